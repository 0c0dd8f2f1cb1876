import type { HoldTerms, NotedOutpoint } from '@penstock/contracts/settlement.ts'
import { MempoolUnseen } from '@penstock/ports/chain.ts'
import { within } from '@penstock/ports/within.ts'
import type { Enrich } from '@penstock/runtime/service.ts'
import { heldOf } from './effects/look.ts'
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
    const asked = Promise.all([chain.tip(), chain.output(outpoint, searchFrom(terms.heldAtHeight)).catch(inNoBlock)])
    const [tip, output] = await within(clock, ANSWER_TIMEOUT_MS, asked)
    return { height: tip.height, confirmedAtHeight: output?.height ?? null }
  },
  /** An invoice may be paid in its last moment, before anybody told us. */
  ExpireInvoice: async ({ paymentHash }: { readonly paymentHash: string }, { ports }: About): Promise<LastMoment> => {
    const { lightning, chain, clock } = ports
    const asked = Promise.all([lightning.holds.find(paymentHash), chain.tip(), lightning.info()])
    const [invoice, tip, { pubkey }] = await within(clock, ANSWER_TIMEOUT_MS, asked)
    return { held: invoice ? (heldOf(invoice, tip.height) ?? null) : null, node: pubkey }
  },
  GivePayoutInvoice: (_: object, { ports }: About) => Promise.resolve({ network: ports.network }),
  RecordPayhash: feeLimit,
  RecordPayout: feeLimit,
  Guard: feeLimit,
  RetryPayout: feeLimit,
}

/** Only its block is asked for, and there is none. */
function inNoBlock(error: unknown): undefined {
  if (!(error instanceof MempoolUnseen)) throw error
}

function feeLimit(_: object, { ports }: About): Promise<FeeLimit> {
  return Promise.resolve({ routingFeeLimitPpm: ports.config.routingFeeLimitPpm })
}
