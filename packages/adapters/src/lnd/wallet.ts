import type { Wallet } from '@penstock/ports/lightning.ts'
import { getChannels, getUtxos } from 'lightning'
import type { Connection } from './connection.ts'

export function wallet({ ask }: Connection): Wallet {
  const active = async () => (await ask((lnd) => getChannels({ lnd, is_active: true }))).channels
  return {
    /** By coins: lnd's own balance counts those that are locked for an opening. */
    async confirmedSat() {
      const { utxos } = await ask((lnd) => getUtxos({ lnd, min_confirmations: 1 }))
      return BigInt(utxos.reduce((sum, { tokens }) => sum + tokens, 0))
    },
    /** What the other end has to keep in the channel it cannot send. */
    async inboundSat() {
      const sat = (await active()).map(({ remote_balance, remote_reserve }) => Math.max(0, remote_balance - remote_reserve))
      return BigInt(sat.reduce((sum, one) => sum + one, 0))
    },
    async localSat() {
      return BigInt((await active()).reduce((sum, { local_balance }) => sum + local_balance, 0))
    },
  }
}
