import type { Network } from '@penstock/bitcoin/bolt11.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { EffectContext } from '@penstock/runtime/service.ts'

/** What settlement needs beside the basics. Only settlement has the keyring. */
export type SettlementPorts = {
  readonly lightning: Lightning
  readonly chain: Chain
  readonly keyring: Keyring
  /** The network that payout invoices have to be for. */
  readonly network: Network
}

export type Context = EffectContext<SettlementPorts>
