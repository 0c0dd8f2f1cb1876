import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bakeMacaroons } from '@penstock/platforms/lnd-bake.ts'
import { freePort } from '@penstock/servers/free-port.ts'
import { type Planned, scriptOf } from '../launcher/plan.ts'
import type { Network } from './network.ts'
import type { Person } from './person.ts'

type Place = {
  /** The launcher's own. */
  readonly folder: string
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** The market's address. */
  readonly url: string
  /** Settings of every process beside those of this one. */
  readonly env: Readonly<Record<string, string>>
}

/** The market on its lnd, with blocks and the mempool from btcd. */
export async function marketOn({ servers: { chain }, having }: Network, place: Place): Promise<Planned> {
  const [market] = having('market')
  if (!market) throw new Error('the network has no market')
  return planned('market', 'standalone/src/main.ts', ['--no-demo'], {
    ...place.env,
    ...(await onLnd(market, 'settlement', place.folder)),
    PENSTOCK_HOST: place.host,
    PORT: `${place.port}`,
    PENSTOCK_DATA_DIR: place.dataDir,
    PENSTOCK_BITCOIND_URL: `wss://${chain.user}@localhost:${chain.port}/ws`,
    PENSTOCK_BITCOIND_PASSWORD_FILE: chain.passwordFile,
    PENSTOCK_BITCOIND_CERT_FILE: chain.certFile,
  })
}

/** A seller's agent beside its lnd: it sees the market's public address and nothing else. */
export async function agentOf(seller: Person, index: number, place: Place): Promise<Planned> {
  const folder = join(place.folder, 'agents', seller.alias)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const terms = join(folder, 'terms.json')
  writeFileSync(terms, JSON.stringify(termsOf(index), null, 2))
  return planned(seller.alias, 'seller-agent/src/main.ts', ['--terms', terms], {
    ...place.env,
    ...(await onLnd(seller, 'seller-agent', folder)),
    PENSTOCK_HOST: '127.0.0.1',
    PENSTOCK_URL: place.url,
    PENSTOCK_DATA_DIR: folder,
    PENSTOCK_BITCOIND_URL: '',
  })
}

/** Each asks a little more than the one before, so that the book has an order. */
const termsOf = (index: number) => ({
  total_size_sat: '400000000',
  min_size_sat: '100000',
  max_size_sat: '16000000',
  min_block_length: 52_560,
  base_fee_sat: `${200 + 50 * index}`,
  fee_rate_ppm: 2000 + 150 * index,
  base_fee_cap_sat: '1',
  fee_rate_cap_ppm: 500,
  auto_accept: true,
})

async function onLnd({ node }: Person, role: 'settlement' | 'seller-agent', folder: string): Promise<Record<string, string>> {
  const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = node
  const [macaroon = ''] = await bakeMacaroons({ socket, certFile, macaroonFile }, [role], folder)
  return {
    PENSTOCK_LIGHTNING: 'lnd',
    PENSTOCK_NETWORK: 'regtest',
    PENSTOCK_LND_SOCKET: socket,
    PENSTOCK_LND_CERT_FILE: certFile,
    PENSTOCK_LND_MACAROON_FILE: macaroon,
  }
}

const planned = async (
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Planned> => ({
  name,
  replica: 1,
  script: scriptOf(script),
  args,
  env: { ...env, PENSTOCK_HEALTH_HOST: '127.0.0.1', PENSTOCK_HEALTH_PORT: `${await freePort()}` },
})
