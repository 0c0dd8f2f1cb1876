import type { BitcoinNetwork } from '@penstock/bitcoin/bolt11.ts'
import type { Chain } from '@penstock/ports/chain.ts'
import type { Keyring } from '@penstock/ports/keyring.ts'
import type { Lightning } from '@penstock/ports/lightning.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import type { CommandBody } from '@penstock/kernel/process.ts'
import type { EffectContext } from '@penstock/runtime/service.ts'

/** Ports of settlement beyond the base ports. Only settlement has the keyring. */
export type SettlementPorts = {
  readonly lightning: Lightning
  readonly chain: Chain
  readonly keyring: Keyring
  /** The network to which payout invoices must belong. */
  readonly network: BitcoinNetwork
}

export type SettlementEffectContext = EffectContext<SettlementPorts>

/** A command that records the outcome of an effect. */
export type Outcome<Type extends SettlementCommand['type']> = CommandBody<Extract<SettlementCommand, { readonly type: Type }>>
