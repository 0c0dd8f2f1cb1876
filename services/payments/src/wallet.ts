import type { WalletCommand, WalletFact } from '@penstock/contracts/payments/wallet.ts'
import { accept, type Decider, type Refusal } from '@penstock/kernel/decider.ts'
import { liveRefusal, walletNotFound } from './refusals.ts'

export type Wallet = { readonly status: 'NONE' | 'READY' | 'DELETED' }

/** A wallet of a sandbox is deleted with its content, so its deletion has no condition. */
export const walletDecider: Decider<Wallet, WalletCommand, WalletFact, Refusal<'LIVE_NOT_SERVED' | 'NOT_FOUND'>> = {
  initial: { status: 'NONE' },
  evolve: (_, { type }) => ({ status: type === 'WalletCreated' ? 'READY' : 'DELETED' }),
  decide({ status }, { type, data }) {
    switch (type) {
      case 'CreateWallet':
        if (status !== 'NONE') return accept()
        return data.environmentType === 'LIVE' ? liveRefusal : accept({ type: 'WalletCreated', v: 1, data })
      case 'DeleteWallet':
        if (status === 'NONE') return walletNotFound
        return status === 'DELETED' ? accept() : accept({ type: 'WalletDeleted', v: 1, data })
    }
  },
}
