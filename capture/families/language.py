"""The families that read and write text, together."""

from . import popular, decoders, encoders, layer_lists, page_readers, recurrent, routed_experts, text

FAMILIES = {
    **popular.FAMILIES,
    **text.FAMILIES,
    **encoders.FAMILIES,
    **decoders.FAMILIES,
    **layer_lists.FAMILIES,
    **page_readers.FAMILIES,
    **recurrent.FAMILIES,
    **routed_experts.FAMILIES,
}
