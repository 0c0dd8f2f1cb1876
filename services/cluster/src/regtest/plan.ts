import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bakeMacaroons } from '@penstock/platforms/lnd-bake.ts'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { type PlannedProcess, scriptPath } from '../launcher/plan.ts'
import type { RegtestNetwork } from './network.ts'
import type { RegtestNode } from './node-role.ts'

type RegtestSettings = {
  /** The folder of the launcher. */
  readonly folder: string
  readonly dataDir: string
  readonly host: string
  readonly port: number
  /** The market's address. */
  readonly url: string
  /** Settings that every process gets in addition to those of this process. */
  readonly env: Readonly<Record<string, string>>
}

/** Plans the process of the market on its lnd, with blocks and the mempool from btcd. */
export async function planMarket(
  { servers: { chain }, nodesWithRole }: RegtestNetwork,
  settings: RegtestSettings,
): Promise<PlannedProcess> {
  const [market] = nodesWithRole('market')
  if (!market) throw new Error('the network has no market')
  return toPlannedProcess('market', 'standalone/src/main.ts', ['--no-demo'], {
    ...settings.env,
    ...(await lndEnv(market, 'settlement', settings.folder)),
    PENSTOCK_HOST: settings.host,
    PORT: `${settings.port}`,
    PENSTOCK_DATA_DIR: settings.dataDir,
    PENSTOCK_BITCOIND_URL: `wss://${chain.user}@localhost:${chain.port}/ws`,
    PENSTOCK_BITCOIND_PASSWORD_FILE: chain.passwordFile,
    PENSTOCK_BITCOIND_CERT_FILE: chain.certFile,
  })
}

/** Plans the agent of a seller on the seller's lnd. The agent knows only the public address of the market. */
export async function planAgent(seller: RegtestNode, index: number, settings: RegtestSettings): Promise<PlannedProcess> {
  const folder = join(settings.folder, 'agents', seller.alias)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const terms = join(folder, 'terms.json')
  writeFileSync(terms, JSON.stringify(termsOf(index), null, 2))
  return toPlannedProcess(seller.alias, 'seller-agent/src/main.ts', ['--terms', terms], {
    ...settings.env,
    ...(await lndEnv(seller, 'seller-agent', folder)),
    PENSTOCK_HOST: '127.0.0.1',
    PENSTOCK_MARKET_URL: settings.url,
    PENSTOCK_DATA_DIR: folder,
    PENSTOCK_BITCOIND_URL: '',
  })
}

/** Each seller is more expensive than the previous one, so that the order book has a definite order. */
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

async function lndEnv(
  { lnd }: RegtestNode,
  role: 'settlement' | 'seller-agent',
  folder: string,
): Promise<Record<string, string>> {
  const { rpcSocket: socket, certFile, adminMacaroonFile: macaroonFile } = lnd
  const [macaroon = ''] = await bakeMacaroons({ socket, certFile, macaroonFile }, [role], folder)
  return {
    PENSTOCK_LIGHTNING: 'lnd',
    PENSTOCK_NETWORK: 'regtest',
    PENSTOCK_LND_SOCKET: socket,
    PENSTOCK_LND_CERT_FILE: certFile,
    PENSTOCK_LND_MACAROON_FILE: macaroon,
  }
}

const toPlannedProcess = async (
  name: string,
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<PlannedProcess> => ({
  name,
  replica: 1,
  script: scriptPath(script),
  args,
  env: { ...env, PENSTOCK_HEALTH_HOST: '127.0.0.1', PENSTOCK_HEALTH_PORT: `${await findFreePort()}` },
})
