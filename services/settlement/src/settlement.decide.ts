import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import { assertNever } from '@penstock/kernel/result.ts'
import { cancelHold, expireInvoice, recordCancelled, recordNodeCancelled } from './hold/cancel.decide.ts'
import { guard, lastHeight, registerOutpoint, settleHold } from './hold/guard.decide.ts'
import {
  checkReach,
  issueHold,
  recordHeld,
  recordIssued,
  recordReach,
  recordReachTry,
  recordSettled,
  recordSettlementMissed,
} from './hold/hold.decide.ts'
import { endLoss } from './payout/loss.decide.ts'
import {
  submitPayoutInvoice,
  submitRefundInvoice,
  recordPayhash,
  recordPayout,
  retryPayout,
  retryPayoutNow,
} from './payout/payout.decide.ts'
import {
  evolve,
  initial,
  type Settlement,
  type EnrichedSettlementCommand,
  type SettlementDecision,
  type SettlementRefusal,
} from './state.ts'
import { decidePayout, recordPromiseBroken } from './payout/withholding.decide.ts'

function decide(state: Settlement, command: EnrichedSettlementCommand): SettlementDecision {
  const { hold } = state
  switch (command.type) {
    case 'IssueHold':
      return issueHold(hold, command.data)
    case 'CheckReach':
      return checkReach(hold, command.data)
    case 'RecordReach':
      return recordReach(hold, command.data)
    case 'RecordReachTry':
      return recordReachTry(hold, command.data)
    case 'RecordIssued':
      return recordIssued(hold, command.data)
    case 'RecordHeld':
      return recordHeld(hold, command.data)
    case 'RegisterOutpoint':
      return registerOutpoint(hold, command.data)
    case 'SettleHold':
      return settleHold(hold, command.data)
    case 'Guard':
      return guard(state, command)
    case 'LastHeight':
      return lastHeight(hold, command.data)
    case 'CancelHold':
      return cancelHold(hold, command.data)
    case 'EndLoss':
      return endLoss(state, command.data)
    case 'ExpireInvoice':
      return expireInvoice(hold, command.data)
    case 'RecordSettlementMissed':
      return recordSettlementMissed(hold, command.data)
    case 'RecordSettled':
      return recordSettled(hold, command.data)
    case 'RecordCancelled':
      return recordCancelled(hold, command.data)
    case 'RecordNodeCancelled':
      return recordNodeCancelled(hold, command.data)
    case 'SubmitPayoutInvoice':
      return submitPayoutInvoice(state, command)
    case 'SubmitRefundInvoice':
      return submitRefundInvoice(state, command)
    case 'DecidePayout':
      return decidePayout(state, command)
    case 'RetryPayoutNow':
      return retryPayoutNow(state, command)
    case 'RecordPayhash':
      return recordPayhash(state, command)
    case 'RecordPayout':
      return recordPayout(state, command)
    case 'RetryPayout':
      return retryPayout(state, command)
    case 'RecordPromiseBroken':
      return recordPromiseBroken(state, command)
    default:
      return assertNever(command)
  }
}

export const settlementDecider: Decider<Settlement, EnrichedSettlementCommand, SettlementFact, SettlementRefusal> = {
  initial,
  evolve,
  decide,
}
