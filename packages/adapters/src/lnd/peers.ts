import type { HostGuard } from '@penstock/outbound/host-guard.ts'
import { AddressRefused, type Peers } from '@penstock/ports/lightning.ts'
import { addPeer, getNode, getPeers } from 'lightning'
import { createSingleFlight } from '../shared/single-flight.ts'
import type { LndConnection } from './connection.ts'
import { LndRefusal } from './rpc-errors.ts'

const CONNECT_TIMEOUT_MS = 8000

/** @param guard limits the hosts that the node may connect to; null sets no limit */
export function createPeersPort({ ask }: LndConnection, guard: HostGuard | null): Peers {
  const readConnected = createSingleFlight(async () => {
    const { peers: all } = await ask((lnd) => getPeers({ lnd }))
    return new Set(all.map(({ public_key }) => public_key))
  })
  const isConnected = async (pubkey: string): Promise<boolean> => (await readConnected()).has(pubkey)
  return {
    isConnected,
    async connect(pubkey, socket) {
      if (await isConnected(pubkey)) return true
      const checked = guard ? await checkSocket(guard, socket) : socket
      try {
        // A temporary peer, because otherwise lnd answers before it is connected and reconnects to the peer without end.
        await ask((lnd) =>
          addPeer({ lnd, public_key: pubkey, socket: checked, is_temporary: true, timeout: CONNECT_TIMEOUT_MS, retry_count: 1 }),
        )
      } catch (error) {
        if (!(error instanceof LndRefusal)) throw error
      }
      return isConnected(pubkey)
    },
    async addresses(pubkey) {
      try {
        const { alias, sockets } = await ask((lnd) => getNode({ lnd, public_key: pubkey, is_omitting_channels: true }))
        return { alias, sockets: sockets.map(({ socket }) => socket) }
      } catch (error) {
        if (error instanceof LndRefusal && error.code === 404) return { alias: '', sockets: [] }
        throw error
      }
    },
  }
}

/** Returns the checked address, because lnd would resolve a name again. @throws AddressRefused */
async function checkSocket(guard: HostGuard, socket: string): Promise<string> {
  const [, host = '', port = ''] = /^(.*):(\d{1,5})$/.exec(socket) ?? []
  const checked = await guard(host)
  if (!checked.allowed) throw new AddressRefused(checked.reason)
  return `${checked.host}:${port}`
}
