import { createMachine } from 'xstate'

const EVERYWHERE = ['PayoutInvoiceTaken', 'PayoutInvoiceRefused', 'OutpointNoteRefused']

/**
 * Facts that are noted and change no status. Sellers give invoices before the hold is asked for and after everything,
 * and what comes too late is refused by a fact wherever the hold is.
 */
const noted = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  Object.fromEntries([...EVERYWHERE, ...types].map((type) => [type, status]))

/** While there is something that could be paid out: what comes after a release is refused at once. */
const payable = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  noted(status, 'PayoutInvoiceOffered', ...types)

/** Which fact may follow in which status of a hold. From `settling` on no edge leads to `cancelling`. */
export const holdMachine = createMachine({
  id: 'hold',
  initial: 'NONE',
  states: {
    NONE: { on: { HoldRequested: 'requested', HoldRefused: 'cancelled', ...payable('NONE') } },
    requested: { on: { HoldIssued: 'open', HoldRefused: 'cancelled', CancelRequested: 'cancelling', ...payable('requested') } },
    open: { on: { HoldHeld: 'held', CancelRequested: 'cancelling', ...payable('open') } },
    held: {
      on: {
        SettleRequested: 'settling',
        CancelRequested: 'cancelling',
        ...payable('held', 'ReachAsked', 'ReachChecked', 'OutpointNoted', 'SettleAsked', 'LastHeightReached'),
      },
    },
    settling: {
      on: {
        HoldSettled: 'settled',
        // By the node's own last line, or because too few blocks were left to take it: that is recorded, with an incident.
        HoldCancelled: 'cancelled',
        ...payable('settling', 'SettleMissed', 'CancelRefused', 'OutpointNoted', 'IncidentNoted'),
      },
    },
    settled: {
      on: payable(
        'settled',
        'LedgerPosted',
        'PayoutWithheld',
        'PayoutReleased',
        'PayoutRequested',
        'PayoutSucceeded',
        'PayoutFailed',
        'CancelRefused',
        'OutpointNoted',
        'IncidentNoted',
      ),
    },
    // An invoice that was made, or paid, while the cancellation was under way is noted and cancelled too.
    cancelling: { on: { HoldCancelled: 'cancelled', ...noted('cancelling', 'HoldIssued', 'HoldHeld') } },
    cancelled: { on: noted('cancelled', 'HoldIssued', 'HoldHeld', 'HoldCancelled') },
  },
})
