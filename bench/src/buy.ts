import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buy as buyOnce, buyerOf } from '../../test/harness/buyer.ts'
import { startProduct } from '../../test/harness/product.ts'
import { latencies, poster } from './callers.ts'
import { compare, type Row, type Subject } from './harness.ts'

const CALLERS = [1, 16, 64]
const ROUNDS = 9
/** Of each round; enough for a 99th percentile that is not the slowest call alone. */
const CALLS = 200
const EVENT_BYTES = 1024

const BUY = `mutation ($input: LiquidityOrderInput!) { liquidity { buy(input: $input) {
  account { id session_key } order { transaction_id } payment { lightning_invoice redirect_url amount { sats } } } } }`

/** `buy` of strangers at the running market, beside bare node:http with one durable write per request. */
export const buy: Subject = {
  name: 'buy',
  async run() {
    // Beside the sources, not in the folder for temporary files: that may be in memory.
    const data = join(import.meta.dirname, '../.penstock')
    mkdirSync(data, { recursive: true })
    const folder = mkdtempSync(join(data, 'buy-'))
    const product = await startProduct(join(folder, 'market'), { PENSTOCK_SIM_BLOCK_SECONDS: '1', PENSTOCK_LOG_LEVEL: 'error' })
    try {
      await buyOnce(product)
      const { uri } = await buyerOf(product)
      const body = JSON.stringify({ query: BUY, variables: { input: { connection_uri: uri, usd_cents: '500' } } })
      const answer = await oneCall(`${product.url}/graphql`, body)
      const reference = await startReference(join(folder, 'flushed'), Buffer.byteLength(answer))
      const rows: Row[] = []
      try {
        for (const callers of CALLERS) rows.push(...(await compareAt(callers, body, `${product.url}/graphql`, reference.url)))
      } finally {
        await reference.close()
      }
      return rows
    } finally {
      await product.stop()
      rmSync(folder, { recursive: true })
    }
  },
}

async function compareAt(callers: number, body: string, market: string, flushing: string): Promise<readonly Row[]> {
  const [buyer, other] = [poster(market, callers), poster(flushing, callers)]
  const purchase = async (): Promise<void> => {
    const answer = await buyer.call(body)
    if (!answer.includes('"lightning_invoice":"ln')) throw new Error(`a purchase failed: ${answer}`)
  }
  const flushed = async (): Promise<void> => void (await other.call(body))
  await latencies(callers, CALLS, purchase)
  await latencies(callers, CALLS, flushed)
  const at = `${callers} ${callers === 1 ? 'caller' : 'callers'}`
  const rows = await compare({
    rows: [
      { what: `buy, p50 at ${at}`, unit: 'ms' },
      { what: `buy, p99 at ${at}`, unit: 'ms' },
    ],
    measure: () => latencies(callers, CALLS, purchase),
    reference: { name: 'bare node:http, one write + fdatasync per request', measure: () => latencies(callers, CALLS, flushed) },
    rounds: ROUNDS,
  })
  buyer.close()
  other.close()
  return rows
}

async function oneCall(url: string, body: string): Promise<string> {
  const { call, close } = poster(url, 1)
  const answer = await call(body)
  close()
  return answer
}

async function startReference(
  path: string,
  answerBytes: number,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const script = join(import.meta.dirname, 'flushing-server.ts')
  const child = spawn(process.execPath, [script, path, `${EVENT_BYTES}`, `${answerBytes}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const [port] = (await once(child.stdout, 'data')) as [Buffer] // what it prints first
  return {
    url: `http://127.0.0.1:${Number(String(port))}/`,
    async close() {
      child.stdin.end()
      await once(child, 'exit')
    },
  }
}
