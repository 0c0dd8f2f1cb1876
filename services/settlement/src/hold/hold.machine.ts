import { createMachine } from 'xstate'

const FACTS_IN_EVERY_STATUS = ['PayoutInvoiceAccepted', 'PayoutInvoiceRefused', 'OutpointRegistrationRefused']

/**
 * Facts that change no status. Sellers may submit payout invoices before the hold is requested and after its end. In every status
 * a fact can refuse a late command.
 */
const keepStatus = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  Object.fromEntries([...FACTS_IN_EVERY_STATUS, ...types].map((type) => [type, status]))

/** Allows new payout invoices too, for the statuses in which a payout is still possible. */
const keepStatusWhilePayable = <Status extends string>(status: Status, ...types: readonly string[]): Record<string, Status> =>
  keepStatus(status, 'PayoutInvoiceSubmitted', ...types)

const PAYOUT_FACTS = [
  'PayoutWithheld',
  'WithholdingLifted',
  'PayoutDecided',
  'PayoutRetryRequested',
  'PayoutReleased',
  'PayoutRequested',
  'PayoutSucceeded',
  'PayoutFailed',
]

/** The facts that each status of a hold allows. No edge leads from `settling` or `settled` to `cancelling`. */
export const holdMachine = createMachine({
  id: 'hold',
  initial: 'NONE',
  states: {
    NONE: { on: { HoldRequested: 'requested', HoldRefused: 'cancelled', ...keepStatusWhilePayable('NONE') } },
    requested: {
      on: { HoldIssued: 'open', HoldRefused: 'cancelled', CancelRequested: 'cancelling', ...keepStatusWhilePayable('requested') },
    },
    open: { on: { HoldHeld: 'held', CancelRequested: 'cancelling', ...keepStatusWhilePayable('open') } },
    held: {
      on: {
        SettlementStarted: 'settling',
        CancelRequested: 'cancelling',
        ...keepStatusWhilePayable(
          'held',
          'BuyerReachRequested',
          'BuyerReachChecked',
          'BuyerReachTried',
          'PeerProven',
          'OutpointRegistered',
          'SettlementWanted',
          'LastHeightReached',
        ),
      },
    },
    settling: {
      on: {
        HoldSettled: 'settled',
        // The node cancelled by itself, or too few blocks were left to settle. Both are recorded with an incident.
        HoldCancelled: 'cancelled',
        ...keepStatusWhilePayable('settling', 'SettlementMissed', 'CancelRefused', 'OutpointRegistered', 'IncidentRecorded'),
      },
    },
    settled: {
      on: keepStatusWhilePayable(
        'settled',
        'LedgerPosted',
        'CancelRefused',
        'OutpointRegistered',
        'IncidentRecorded',
        'PayableClosed',
        ...PAYOUT_FACTS,
      ),
    },
    // An invoice that was created or paid during the cancellation is recorded, and cancelled too.
    cancelling: {
      on: { HoldCancelled: 'cancelled', ...keepStatusWhilePayable('cancelling', 'HoldIssued', 'HoldHeld', 'LossSearchStarted') },
    },
    // An operator loss is paid like any other amount of a seller.
    cancelled: {
      on: keepStatusWhilePayable(
        'cancelled',
        'HoldIssued',
        'HoldHeld',
        'HoldCancelled',
        'LossBorne',
        'LossRefuted',
        'LedgerPosted',
        'IncidentRecorded',
        ...PAYOUT_FACTS,
      ),
    },
  },
})
