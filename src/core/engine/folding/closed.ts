/** What frees all that it allocates and nothing else leaves no trace: it can be played again wherever it is run again. */
import type { Ledger, LedgerState, Script } from "../ledger";

/** The events since `state` as a script; null where they are not closed, or where phases or notes are among them. */
export function closedScript(ledger: Ledger, state: LedgerState): Script | null {
  if (ledger.phaseList.length > state.phases || ledger.notes.length > state.notes) return null;
  const events = ledger.events.slice(state.events);
  const count = ledger.count - state.ids;
  let alive = 0;
  for (const [k, event] of events.entries()) {
    const id = event < 0 ? ~event : event;
    if (id < state.ids) return null;
    alive += event < 0 ? -1 : 1;
    events[k] = event < 0 ? event + state.ids : event - state.ids;
  }
  if (alive !== 0) return null;
  for (const id of ledger.apart) if (id >= state.ids) return null;
  return {
    events,
    bytes: ledger.bytes.slice(state.ids, state.ids + count),
    labels: ledger.labelIndices.slice(state.ids, state.ids + count),
    phases: [],
    notes: [],
  };
}
