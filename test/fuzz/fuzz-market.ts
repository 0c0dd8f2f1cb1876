import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readProbe } from '../support/process-probe.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'
import type { ProcessState } from './probe.ts'

/** The real process, with the code of probe.ts in it. Blocks are mined only on request, so that no new block causes facts. */
export type FuzzMarket = {
  readonly product: Product
  readonly host: string
  readonly port: number
  readonly operatorToken: string
  /** Reads memory, open files and routes from inside the process. */
  readProcess(): Promise<ProcessState>
}

/** All rate limits are off, because they would refuse the requests of a campaign. */
const UNLIMITED_SETTINGS: Readonly<Record<string, string>> = {
  PENSTOCK_SIM_BLOCK_SECONDS: '0',
  PENSTOCK_DASHBOARD_PER_MINUTE: '0',
  PENSTOCK_INVOICE_EXPIRY_SECONDS: '86400',
}

export async function startFuzzMarket(env: Readonly<Record<string, string>> = {}): Promise<FuzzMarket> {
  const socket = join(makeTempFolder(), 'probe.sock')
  const probe = new URL('probe.ts', import.meta.url).href
  const dataDir = makeTempFolder()
  const product = await startProduct(dataDir, {
    ...UNLIMITED_SETTINGS,
    NODE_OPTIONS: `--import=${probe}`,
    PROBE_SOCKET: socket,
    ...env,
  })
  const { hostname, port } = new URL(product.url)
  return {
    product,
    host: hostname,
    port: Number(port),
    operatorToken: readFileSync(join(dataDir, 'operator.token'), 'utf8').trim(),
    readProcess: () => readProbe(socket),
  }
}
