import { defineEffect } from '@penstock/runtime/service.ts'
import type { Settlement } from '../state.ts'
import { cancelHoldInvoice } from './cancel-hold-invoice.ts'
import { reachBuyer } from './connect-to-buyer.ts'
import type { GuardState } from './guard/guard-state.ts'
import type { InvoiceWatch } from './guard/invoice-watch.ts'
import { issueHoldInvoice } from './issue-hold-invoice.ts'
import { bindToNode } from './node-binding.ts'
import type { SettlementEffectContext } from './ports.ts'
import { proveChannel } from './prove-channel.ts'
import { sendPayout } from './send-payout.ts'
import { settleHoldInvoice } from './settle-hold-invoice.ts'

/** The effects of settlement. Each of them calls the Lightning node that has the order's payment. */
export const createEffects = (invoiceWatch: InvoiceWatch, guardState: GuardState) => ({
  issue: defineEffect({
    calls: [
      'lightning.info',
      'lightning.peers.isConnected',
      'lightning.peers.addresses',
      'lightning.peers.connect',
      'lightning.holds.find',
      'lightning.holds.create',
      'chain.tip',
    ],
    outcomes: ['RecordIssued', 'RecordReach'],
    act: bindToNode(issueAndWatch(invoiceWatch, guardState)),
  }),
  reach: defineEffect({
    calls: ['lightning.info', 'lightning.peers.isConnected', 'lightning.peers.addresses', 'lightning.peers.connect', 'chain.tip'],
    outcomes: ['RecordReach'],
    act: bindToNode(reachBuyer),
  }),
  prove: defineEffect({
    calls: [
      'lightning.info',
      'lightning.graph.channel',
      'lightning.graph.between',
      'lightning.graph.probe',
      'lightning.messages.recover',
      'chain.tip',
      'chain.output',
    ],
    outcomes: ['Guard'],
    act: bindToNode(proveChannel),
  }),
  settle: defineEffect({
    calls: ['keyring.preimageOf', 'lightning.info', 'lightning.holds.settle', 'lightning.holds.find', 'chain.tip'],
    outcomes: ['RecordSettled', 'RecordNodeCancelled', 'RecordSettlementMissed'],
    act: bindToNode(settleHoldInvoice),
  }),
  cancel: defineEffect({
    calls: ['lightning.info', 'lightning.holds.cancel', 'lightning.holds.find'],
    outcomes: ['RecordCancelled', 'RecordSettled'],
    act: bindToNode(cancelHoldInvoice),
  }),
  pay: defineEffect({
    calls: ['lightning.info', 'lightning.payments.find', 'lightning.payments.pay'],
    outcomes: ['RecordPayout'],
    act: bindToNode(sendPayout),
  }),
})

/** Creates an invoice and watches it, so that this process records its payment at once. */
const issueAndWatch =
  (invoiceWatch: InvoiceWatch, { issuedHere }: GuardState) =>
  async (state: Settlement, context: SettlementEffectContext) => {
    const command = await issueHoldInvoice(state, context)
    if (command.type === 'RecordIssued') {
      issuedHere.add(context.id)
      invoiceWatch.begin(context.id)
    }
    return command
  }
