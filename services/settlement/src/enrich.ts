import type { HoldTerms } from '@penstock/contracts/settlement.ts'
import type { Enrich } from '@penstock/runtime/service.ts'
import { heldOf } from './effects/look.ts'
import type { SettlementPorts } from './effects/ports.ts'
import type { FeeLimit, LastMoment, NodeView } from './state.ts'

type About = Parameters<Enrich<SettlementPorts>>[1]

/** What only the node, the chain, the keyring and the configuration know when a command is decided. */
export const enrich = {
  IssueHold: async ({ issue }: HoldTerms, { id, ports }: About): Promise<NodeView> => {
    const { lightning, chain, keyring, config, clock } = ports
    const [info, tip, inboundSat] = await Promise.all([lightning.info(), chain.tip(), lightning.wallet.inboundSat()])
    return {
      ...keyring.paymentHashOf(id, issue),
      node: info.pubkey,
      synced: info.synced && tip.synced,
      tipAgeSeconds: Math.max(0, Math.round((clock.now() - tip.time) / 1000)),
      staleTipSeconds: config.staleTipSeconds,
      inboundSat,
    }
  },
  NoteOutpoint: async (_: object, { ports }: About) => ({ height: (await ports.chain.tip()).height }),
  /** An invoice may be paid in its last moment, before anybody told us. */
  ExpireInvoice: async ({ paymentHash }: { readonly paymentHash: string }, { ports }: About): Promise<LastMoment> => {
    const { lightning, chain } = ports
    const invoice = await lightning.holds.find(paymentHash)
    return { held: invoice ? (heldOf(invoice, (await chain.tip()).height) ?? null) : null }
  },
  GivePayoutInvoice: (_: object, { ports }: About) => Promise.resolve({ network: ports.network }),
  RecordPayhash: feeLimit,
  Guard: feeLimit,
  RetryPayout: feeLimit,
}

function feeLimit(_: object, { ports }: About): Promise<FeeLimit> {
  return Promise.resolve({ routingFeeLimitPpm: ports.config.routingFeeLimitPpm })
}
