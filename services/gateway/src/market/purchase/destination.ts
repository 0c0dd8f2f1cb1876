import { isSpecialPurpose } from '@penstock/outbound/host-guard.ts'
import type { Gateway } from '../../ports.ts'

type Destination = { readonly pubkey: string; readonly sockets: readonly string[] }

/**
 * Finds the reason why our node must not connect to a buyer's node: the given address, or every announced address, is not
 * public. Announced host names and .onion addresses are checked when our node connects.
 * @returns a message for the buyer; undefined if our node may connect, and on test networks
 */
export async function findDestinationFault(
  { hostGuard, lookUpNode }: Pick<Gateway, 'hostGuard' | 'lookUpNode'>,
  { pubkey, sockets }: Destination,
): Promise<string | undefined> {
  if (!hostGuard) return undefined
  for (const socket of sockets) {
    const checked = await hostGuard(stripPort(socket))
    if (!checked.allowed) return `connection_uri must name a public address: ${checked.reason}.`
  }
  if (sockets.length > 0) return undefined
  const announced = (await lookUpNode(pubkey)).sockets
  return announced.length > 0 && announced.every((socket) => isSpecialPurpose(stripPort(socket)))
    ? 'The node announces no public address. Let it announce one, or none, and order again.'
    : undefined
}

const stripPort = (socket: string): string => socket.replace(/:\d+$/, '')
