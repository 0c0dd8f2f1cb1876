import type { RegisteredOutpoint, SettlementCommand } from '@penstock/contracts/settlement.ts'
import { MempoolUnavailable } from '@penstock/ports/chain.ts'
import { withTimeout } from '@penstock/kernel/timeout.ts'
import type { Enricher } from '@penstock/runtime/service.ts'
import { toHeldPayment, fullyHeldSince } from './effects/guard/invoice-changes.ts'
import { readHighestTip } from './effects/highest-tip.ts'
import { searchStartHeight } from './effects/prove-channel.ts'
import type { SettlementPorts } from './effects/ports.ts'
import type { FeeLimit, PaymentAtExpiry, OutpointView, NodeView } from './state.ts'

type IssueHold = Extract<SettlementCommand, { readonly type: 'IssueHold' }>['data']

type DecidePayout = Extract<SettlementCommand, { readonly type: 'DecidePayout' }>['data']

type SubmitRefundInvoice = Extract<SettlementCommand, { readonly type: 'SubmitRefundInvoice' }>['data']

type EnrichContext = Parameters<Enricher<SettlementPorts>>[1]

/** A command that waits for an answer delays the commands behind it, so it times out and is retried. */
const ANSWER_TIMEOUT_MS = 10_000

/** Adds the data that decisions need from the node, the chain, the keyring and the configuration. */
export const enrich = {
  IssueHold: async ({ issue }: IssueHold, { id, ports }: EnrichContext): Promise<NodeView> => {
    const { lightning, chain, keyring, config, clock, network } = ports
    const answers = Promise.all([lightning.info(), chain.tip(), lightning.wallet.inboundSat()])
    // On regtest, blocks are mined on demand, and lnd reports itself as unsynced two hours after the last block.
    const isRegtest = network === 'regtest'
    const [info, tip, inboundSat] = await withTimeout(clock, ANSWER_TIMEOUT_MS, answers)
    return {
      ...keyring.paymentHashOf(id, issue),
      node: info.pubkey,
      synced: isRegtest || (info.synced && tip.synced),
      tipAgeSeconds: Math.max(0, Math.round((clock.now() - tip.time) / 1000)),
      staleTipSeconds: isRegtest ? 0 : config.staleTipSeconds,
      inboundSat,
      holdExpiryDelta: info.holdExpiryDelta,
    }
  },
  RegisterOutpoint: async ({ outpoint, terms }: RegisteredOutpoint, { ports }: EnrichContext): Promise<OutpointView> => {
    const { chain, clock } = ports
    const answers = Promise.all([
      readHighestTip(ports),
      chain.output(outpoint, searchStartHeight(terms.heldAtHeight)).catch(ignoreUnseenMempool),
    ])
    const [tip, output] = await withTimeout(clock, ANSWER_TIMEOUT_MS, answers)
    const view = { height: tip.height, seesMempool: chain.sees.mempool, confirmedAtHeight: output?.height ?? null }
    // Most fundings are submitted before they are published, so most outputs do not exist yet.
    return output && chain.sees.mempool ? { ...view, ...(await readPaymentTimes(ports, outpoint)) } : { ...view, ...unknownTimes }
  },
  /** Reads the invoice, because a payment just before the expiry may not be recorded here yet. */
  ExpireInvoice: async (
    { paymentHash }: { readonly paymentHash: string },
    { ports }: EnrichContext,
  ): Promise<PaymentAtExpiry> => {
    const { lightning, clock } = ports
    const answers = Promise.all([lightning.holds.find(paymentHash), readHighestTip(ports), lightning.info()])
    const [invoice, tip, { pubkey }] = await withTimeout(clock, ANSWER_TIMEOUT_MS, answers)
    return { held: invoice ? (toHeldPayment(invoice, tip.height) ?? null) : null, node: pubkey }
  },
  SubmitPayoutInvoice: readNetwork,
  SubmitRefundInvoice: async ({ request, proof }: SubmitRefundInvoice, context: EnrichContext) => ({
    ...(await readNetwork({}, context)),
    isProven: context.ports.keyring.isProvenRefund({ orderId: context.id, request }, proof),
  }),
  DecidePayout: async ({ to, by, reason, proof }: DecidePayout, context: EnrichContext) => ({
    ...(await readTipHeight({}, context)),
    isProven: context.ports.keyring.isProven({ orderId: context.id, to, by, reason }, proof),
  }),
  RetryPayoutNow: readFeeLimit,
  RecordPayhash: readFeeLimit,
  /** A payment to an earlier invoice may be an incident, which has a height. */
  RecordPayout: async (
    outcome: Extract<SettlementCommand, { readonly type: 'RecordPayout' }>['data'],
    context: EnrichContext,
  ): Promise<FeeLimit & { readonly height?: number }> => ({
    ...(await readFeeLimit(outcome, context)),
    ...(outcome.state === 'succeeded' && outcome.paymentHash !== undefined && (await readTipHeight(outcome, context))),
  }),
  Guard: readFeeLimit,
  RetryPayout: readFeeLimit,
}

/** If only the mempool is unavailable, no block contains the outpoint, and the time of its entry is unknown. */
function ignoreUnseenMempool(error: unknown): undefined {
  if (!(error instanceof MempoolUnavailable)) throw error
}

const unknownTimes = { enteredMempoolAt: null, heldSince: {} } as const

/** Reads when the mempool received the funding and when the node received the payments, not when we learned of them. */
async function readPaymentTimes({ chain, lightning, clock }: EnrichContext['ports'], outpoint: string) {
  const answers = Promise.all([chain.enteredMempoolAt(outpoint), lightning.holds.held()])
  const [enteredMempoolAt, held] = await withTimeout(clock, ANSWER_TIMEOUT_MS, answers)
  const heldSince = held.map((invoice) => [invoice.paymentHash, fullyHeldSince(invoice)] as const)
  return { enteredMempoolAt, heldSince: Object.fromEntries(heldSince) }
}

async function readTipHeight(_: object, { ports: { chain, clock } }: EnrichContext) {
  const { height } = await withTimeout(clock, ANSWER_TIMEOUT_MS, chain.tip())
  return { height }
}

function readNetwork(_: object, { ports: { network } }: EnrichContext) {
  return Promise.resolve({ network })
}

function readFeeLimit(_: object, { ports }: EnrichContext): Promise<FeeLimit> {
  return Promise.resolve({ routingFeeLimitPpm: ports.config.routingFeeLimitPpm })
}
