import { type CommandsOf, defineContract, type FactsOf, type TargetOf, v1 } from '../define.ts'
import { noData, uuid } from '../shapes.ts'
import { walletReference } from './shapes.ts'

/** `nameRecord`: the id of the name in the side table; null for a wallet that has the symbol of its asset as its name. */
const wallet = walletReference.omit({ walletId: true }).extend({ nameRecord: uuid.nullable() })

/** Holds one asset. Its balance is the sum of its transactions. */
export const walletContract = defineContract('wallet', 'payments', {
  isFollowedInMemory: true,
  facts: { WalletCreated: v1(wallet), WalletDeleted: v1(noData) },
  commands: {
    CreateWallet: { ...v1(wallet), from: ['gateway'] },
    DeleteWallet: { ...v1(noData), from: ['gateway'] },
  },
  records: { CreateWallet: ['WalletCreated'], DeleteWallet: ['WalletDeleted'] },
})
export type WalletFact = FactsOf<typeof walletContract>
export type WalletCommand = CommandsOf<typeof walletContract>
export type WalletTarget = TargetOf<typeof walletContract>
