import { isSpecialPurpose } from '@penstock/outbound/host-guard.ts'
import type { Gateway } from '../ports.ts'

type Destination = { readonly pubkey: string; readonly sockets: readonly string[] }

/**
 * Why our node must not connect to a buyer's node: only places of our own network are behind the address that it names, or
 * behind all that it announces. What is announced as a name or an .onion is looked at when our node connects.
 * @returns a sentence for the buyer; undefined where nothing is wrong, and on networks for tests
 */
export async function destinationRefusal(
  { hostGuard, nodes }: Pick<Gateway, 'hostGuard' | 'nodes'>,
  { pubkey, sockets }: Destination,
): Promise<string | undefined> {
  if (!hostGuard) return undefined
  for (const socket of sockets) {
    const checked = await hostGuard(hostOf(socket))
    if (!checked.allowed) return `connection_uri must name a public address: ${checked.reason}.`
  }
  if (sockets.length > 0) return undefined
  const announced = (await nodes(pubkey)).sockets
  return announced.length > 0 && announced.every((socket) => isSpecialPurpose(hostOf(socket)))
    ? 'The node announces no public address. Let it announce one, or none, and order again.'
    : undefined
}

const hostOf = (socket: string): string => socket.replace(/:\d+$/, '')
