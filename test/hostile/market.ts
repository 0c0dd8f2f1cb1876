import { once } from 'node:events'
import { createConnection } from 'node:net'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Product, scratch, startProduct } from '../harness/product.ts'
import type { Inside } from './probe.ts'

/** The real process with a look into it. Blocks come by hand only, so that no fact is made by time. */
export type Market = {
  readonly product: Product
  readonly host: string
  readonly port: number
  readonly operatorToken: string
  /** Memory and open files as the process itself sees them. */
  inside(): Promise<Inside>
}

/** Every limit of rate is off: what they would keep away is what is tried here. */
const OPEN: Readonly<Record<string, string>> = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '86400',
}

export async function openMarket(env: Readonly<Record<string, string>> = {}): Promise<Market> {
  const socket = join(scratch(), 'probe.sock')
  const probe = new URL('probe.ts', import.meta.url).href
  const dataDir = scratch()
  const product = await startProduct(dataDir, { ...OPEN, NODE_OPTIONS: `--import=${probe}`, PROBE_SOCKET: socket, ...env })
  const { hostname, port } = new URL(product.url)
  return {
    product,
    host: hostname,
    port: Number(port),
    operatorToken: readFileSync(join(dataDir, 'operator.token'), 'utf8').trim(),
    inside: () => ask(socket),
  }
}

async function ask(path: string): Promise<Inside> {
  const connection = createConnection(path).setEncoding('utf8')
  let text = ''
  connection.on('data', (part: string) => (text += part))
  await once(connection, 'end')
  return JSON.parse(text) as Inside // the probe's own words
}
