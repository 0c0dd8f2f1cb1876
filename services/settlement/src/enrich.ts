import type { HoldTerms, NotedOutpoint } from '@penstock/contracts/settlement.ts'
import { MempoolUnseen } from '@penstock/ports/chain.ts'
import { within } from '@penstock/ports/within.ts'
import type { Enrich } from '@penstock/runtime/service.ts'
import { heldOf, wholeSince } from './effects/look.ts'
import { presentTip } from './effects/present-height.ts'
import { searchFrom } from './effects/prove.ts'
import type { SettlementPorts } from './effects/ports.ts'
import type { FeeLimit, LastMoment, NamingView, NodeView } from './state.ts'

type About = Parameters<Enrich<SettlementPorts>>[1]

/** A command that waits for an answer holds up those behind it; it is tried again instead. */
const ANSWER_TIMEOUT_MS = 10_000

/** What only the node, the chain, the keyring and the configuration know when a command is decided. */
export const enrich = {
  IssueHold: async ({ issue }: HoldTerms, { id, ports }: About): Promise<NodeView> => {
    const { lightning, chain, keyring, config, clock, network } = ports
    const asked = Promise.all([lightning.info(), chain.tip(), lightning.wallet.inboundSat()])
    // Its blocks come when somebody makes them: lnd calls itself unsynced two hours after the last one.
    const isRegtest = network === 'regtest'
    const [info, tip, inboundSat] = await within(clock, ANSWER_TIMEOUT_MS, asked)
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
  NoteOutpoint: async ({ outpoint, terms }: NotedOutpoint, { ports }: About): Promise<NamingView> => {
    const { chain, clock } = ports
    const asked = Promise.all([presentTip(ports), chain.output(outpoint, searchFrom(terms.heldAtHeight)).catch(inNoBlock)])
    const [tip, output] = await within(clock, ANSWER_TIMEOUT_MS, asked)
    const seen = { height: tip.height, seesMempool: chain.sees.mempool, confirmedAtHeight: output?.height ?? null }
    // Most fundings are named before they are published.
    return output && chain.sees.mempool ? { ...seen, ...(await timesOf(ports, outpoint)) } : { ...seen, ...noTimes }
  },
  /** An invoice may be paid in its last moment, before anybody told us. */
  ExpireInvoice: async ({ paymentHash }: { readonly paymentHash: string }, { ports }: About): Promise<LastMoment> => {
    const { lightning, clock } = ports
    const asked = Promise.all([lightning.holds.find(paymentHash), presentTip(ports), lightning.info()])
    const [invoice, tip, { pubkey }] = await within(clock, ANSWER_TIMEOUT_MS, asked)
    return { held: invoice ? (heldOf(invoice, tip.height) ?? null) : null, node: pubkey }
  },
  GivePayoutInvoice: ownNetwork,
  GiveRefundInvoice: ownNetwork,
  DecidePayout: tipHeight,
  RetryPayoutNow: feeLimit,
  RecordPayhash: feeLimit,
  RecordPayout: feeLimit,
  Guard: feeLimit,
  RetryPayout: feeLimit,
}

/** No block has it. While the mempool cannot be seen there is no time to compare, as where there is no source of one. */
function inNoBlock(error: unknown): undefined {
  if (!(error instanceof MempoolUnseen)) throw error
}

const noTimes = { enteredMempoolAt: null, heldSince: {} } as const

/** A transaction that came before the payment is compared by what node and mempool say, not by when we heard of either. */
async function timesOf({ chain, lightning, clock }: About['ports'], outpoint: string) {
  const asked = Promise.all([chain.enteredMempoolAt(outpoint), lightning.holds.held()])
  const [enteredMempoolAt, held] = await within(clock, ANSWER_TIMEOUT_MS, asked)
  const heldSince = held.map((invoice) => [invoice.paymentHash, wholeSince(invoice)] as const)
  return { enteredMempoolAt, heldSince: Object.fromEntries(heldSince) }
}

async function tipHeight(_: object, { ports: { chain, clock } }: About) {
  const { height } = await within(clock, ANSWER_TIMEOUT_MS, chain.tip())
  return { height }
}

function ownNetwork(_: object, { ports: { network } }: About) {
  return Promise.resolve({ network })
}

function feeLimit(_: object, { ports }: About): Promise<FeeLimit> {
  return Promise.resolve({ routingFeeLimitPpm: ports.config.routingFeeLimitPpm })
}
