import type { Wallet } from '@penstock/ports/lightning.ts'
import { getChannels, getUtxos } from 'lightning'
import type { LndConnection } from './connection.ts'

export function createWalletPort({ ask }: LndConnection): Wallet {
  const listActive = async () => (await ask((lnd) => getChannels({ lnd, is_active: true }))).channels
  return {
    /** Sums the coins, because lnd's own balance includes coins that are locked for an opening. */
    async confirmedSat() {
      const { utxos } = await ask((lnd) => getUtxos({ lnd, min_confirmations: 1 }))
      return BigInt(utxos.reduce((sum, { tokens }) => sum + tokens, 0))
    },
    /** Subtracts the channel reserve of each peer, because the peer cannot send it. */
    async inboundSat() {
      const sat = (await listActive()).map(({ remote_balance, remote_reserve }) => Math.max(0, remote_balance - remote_reserve))
      return BigInt(sat.reduce((sum, value) => sum + value, 0))
    },
    async localSat() {
      return BigInt((await listActive()).reduce((sum, { local_balance }) => sum + local_balance, 0))
    },
  }
}
