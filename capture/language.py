"""The families that read and write text, together."""
from . import common, decoders, encoders, listed, readers, recurrent, routed, text

FAMILIES = {**common.FAMILIES, **text.FAMILIES, **encoders.FAMILIES, **decoders.FAMILIES, **listed.FAMILIES, **readers.FAMILIES, **recurrent.FAMILIES, **routed.FAMILIES}
