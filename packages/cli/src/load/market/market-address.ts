import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { Failure } from '../../failure.ts'

/** The address of a market that may be loaded, with the IP addresses of its host. */
export type MarketAddress = { readonly url: URL; readonly addresses: readonly string[] }

/** @returns every IP address of a host; an empty list for an unknown host */
type HostResolver = (host: string) => Promise<readonly string[]>

const lookUpAddresses: HostResolver = async (host) =>
  lookup(host, { all: true }).then(
    (found) => found.map(({ address }) => address),
    () => [],
  )

/**
 * Load on a foreign market is an attack, so other machines are refused unless the user owns the market. The client connects
 * only to the returned IP addresses, so that a later change of the name has no effect.
 * @throws Failure for an invalid address, or for an address of another machine
 */
export async function resolveMarketAddress(
  text: string,
  isOwn: boolean,
  resolve: HostResolver = lookUpAddresses,
): Promise<MarketAddress> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw new Failure(`"${text}" is not the address of a market: write it as http://127.0.0.1:8080.`)
  if (url.username || url.password || url.search || url.hash)
    throw new Failure('The address of a market has no user, query or fragment in it.')
  // The URL class has normalised numeric forms such as 2130706433 and 0x7f.1.
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = ipaddr.isValid(host) ? [host] : await resolve(host)
  if (addresses.length === 0) throw new Failure(`The host ${host} cannot be found.`)
  const foreign = addresses.find((address) => !isLoopback(address))
  if (foreign !== undefined && !isOwn) {
    const hostText = foreign === host ? host : `${host} (${foreign})`
    throw new Failure(`${hostText} is not this machine's loopback: say --i-own-this if you may load the market there.`)
  }
  return { url, addresses }
}

/** True for ::ffff:127.0.0.1, another form of 127.0.0.1. False for 0.0.0.0, which matches any address. */
const isLoopback = (address: string): boolean => ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback'

/** Whether every address is of this machine, so that the token of the data folder may be sent there. */
export const isThisMachine = ({ addresses }: MarketAddress): boolean => addresses.every(isLoopback)
