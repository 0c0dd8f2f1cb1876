import type { SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Decider } from '@penstock/kernel/decider.ts'
import { never } from '@penstock/kernel/result.ts'
import { cancelHold, expireInvoice, recordCancelled, recordNodeCancelled } from './cancel.decide.ts'
import { guard, lastHeight, noteOutpoint, settleHold } from './guard.decide.ts'
import {
  checkReach,
  issueHold,
  recordHeld,
  recordIssued,
  recordReach,
  recordReachTry,
  recordSettled,
  recordSettleMissed,
} from './hold.decide.ts'
import { endLoss } from './loss.decide.ts'
import {
  givePayoutInvoice,
  giveRefundInvoice,
  recordPayhash,
  recordPayout,
  retryPayout,
  retryPayoutNow,
} from './payout.decide.ts'
import {
  evolve,
  initial,
  type Settlement,
  type SettlementCommand,
  type SettlementDecision,
  type SettlementRefusal,
} from './state.ts'
import { decidePayout, recordPromiseBroken } from './withholding.decide.ts'

function decide(state: Settlement, command: SettlementCommand): SettlementDecision {
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
    case 'NoteOutpoint':
      return noteOutpoint(hold, command.data)
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
    case 'RecordSettleMissed':
      return recordSettleMissed(hold, command.data)
    case 'RecordSettled':
      return recordSettled(hold, command.data)
    case 'RecordCancelled':
      return recordCancelled(hold, command.data)
    case 'RecordNodeCancelled':
      return recordNodeCancelled(hold, command.data)
    case 'GivePayoutInvoice':
      return givePayoutInvoice(state, command)
    case 'GiveRefundInvoice':
      return giveRefundInvoice(state, command)
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
      return never(command)
  }
}

export const settlement: Decider<Settlement, SettlementCommand, SettlementFact, SettlementRefusal> = { initial, evolve, decide }
