import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import { AddressRefused, type Peers } from '@penstock/ports/lightning.ts'
import { addPeer, getNode, getPeers } from 'lightning'
import { sharedAnswer } from '../shared/shared-answer.ts'
import type { Connection } from './connection.ts'
import { Refusal } from './refusal.ts'

const CONNECT_MS = 8000

/** @param guard which hosts the node may be told to connect to; null lets it connect to any */
export function peers({ ask }: Connection, guard: HostGuard | null): Peers {
  const connected = sharedAnswer(async () => {
    const { peers: all } = await ask((lnd) => getPeers({ lnd }))
    return new Set(all.map(({ public_key }) => public_key))
  })
  const isConnected = async (pubkey: string): Promise<boolean> => (await connected()).has(pubkey)
  return {
    isConnected,
    async connect(pubkey, socket) {
      if (await isConnected(pubkey)) return true
      const checked = guard ? await checkedSocket(guard, socket) : socket
      try {
        // Temporary: else lnd answers before it is connected, and calls a node that was asked for once for ever.
        await ask((lnd) =>
          addPeer({ lnd, public_key: pubkey, socket: checked, is_temporary: true, timeout: CONNECT_MS, retry_count: 1 }),
        )
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
      }
      return isConnected(pubkey)
    },
    async addresses(pubkey) {
      try {
        const { alias, sockets } = await ask((lnd) => getNode({ lnd, public_key: pubkey, is_omitting_channels: true }))
        return { alias, sockets: sockets.map(({ socket }) => socket) }
      } catch (error) {
        if (error instanceof Refusal && error.code === 404) return { alias: '', sockets: [] }
        throw error
      }
    },
  }
}

/** lnd gets the address that was checked, never a name that it would resolve again. @throws AddressRefused */
async function checkedSocket(guard: HostGuard, socket: string): Promise<string> {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(socket) ?? []
  const checked = await guard(host)
  if (!checked.allowed) throw new AddressRefused(checked.reason)
  return `${checked.host}:${port}`
}
