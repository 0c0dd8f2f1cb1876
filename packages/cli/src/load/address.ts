import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { Failure } from '../failure.ts'

/** An address that may be loaded, with all that its name stood for when it was looked at. */
export type Target = { readonly url: URL; readonly addresses: readonly string[] }

/** @returns every address of a host; none where it is unknown */
type Resolve = (host: string) => Promise<readonly string[]>

const allAddresses: Resolve = async (host) =>
  lookup(host, { all: true }).then(
    (found) => found.map(({ address }) => address),
    () => [],
  )

/**
 * A load generator pointed at somebody else is an attack, so only this machine is loaded unless the caller says that the
 * market is his. The client connects to these addresses only: a name that changes its mind later gains nothing.
 * @throws Failure for what is no address of a market, or another machine's
 */
export async function targetOf(text: string, isOwn: boolean, resolve: Resolve = allAddresses): Promise<Target> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw new Failure(`"${text}" is no address of a market: write it as http://127.0.0.1:8080.`)
  if (url.username || url.password || url.search || url.hash)
    throw new Failure('The address of a market has no user, query or fragment in it.')
  // URL has turned 2130706433, 0x7f.1 and the like into dotted numbers already.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = ipaddr.isValid(host) ? [host] : await resolve(host)
  if (addresses.length === 0) throw new Failure(`The host ${host} cannot be found.`)
  const foreign = addresses.find((address) => !isLoopback(address))
  if (foreign !== undefined && !isOwn) {
    const which = foreign === host ? host : `${host} (${foreign})`
    throw new Failure(`${which} is not this machine's loopback: say --i-own-this if you may load the market there.`)
  }
  return { url, addresses }
}

/** Also ::ffff:127.0.0.1, which is 127.0.0.1 in another form; not 0.0.0.0, which stands for any. */
const isLoopback = (address: string): boolean => ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'

/** Whether all of it is this machine: what lies in its data folder may be sent there. */
export const isThisMachine = ({ addresses }: Target): boolean => addresses.every(isLoopback)
