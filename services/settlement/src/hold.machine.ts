import { createMachine } from 'xstate'

const EVERYWHERE = ['PayoutInvoiceTaken', 'PayoutInvoiceRefused', 'OutpointNoteRefused']

/**
 * Facts that are noted and change no status. Sellers give invoices before the hold is asked for and after everything,
 * and what comes too late is refused by a fact wherever the hold is.
 */
const noted = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  Object.fromEntries([...EVERYWHERE, ...types].map((type) => [type, status]))

/** While there is, or may come, something that could be paid out. */
const payable = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  noted(status, 'PayoutInvoiceOffered', ...types)

const PAYOUT = [
  'PayoutWithheld',
  'WithholdingLifted',
  'PayoutDecided',
  'PayoutRetryRequested',
  'PayoutReleased',
  'PayoutRequested',
  'PayoutSucceeded',
  'PayoutFailed',
]

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
        ...payable(
          'held',
          'ReachAsked',
          'ReachChecked',
          'BuyerReachTried',
          'PeerProven',
          'OutpointNoted',
          'SettleAsked',
          'LastHeightReached',
        ),
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
      on: payable('settled', 'LedgerPosted', 'CancelRefused', 'OutpointNoted', 'IncidentNoted', 'PayableClosed', ...PAYOUT),
    },
    // An invoice that was made, or paid, while the cancellation was under way is noted and cancelled too.
    cancelling: { on: { HoldCancelled: 'cancelled', ...payable('cancelling', 'HoldIssued', 'HoldHeld', 'LossAsked') } },
    // What the operator bears is paid like any other share of a seller.
    cancelled: {
      on: payable(
        'cancelled',
        'HoldIssued',
        'HoldHeld',
        'HoldCancelled',
        'LossBorne',
        'LossRefuted',
        'LedgerPosted',
        'IncidentNoted',
        ...PAYOUT,
      ),
    },
  },
})
