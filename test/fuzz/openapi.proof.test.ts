import { cpSync } from 'node:fs'
import { join } from 'node:path'
import assert from 'node:assert/strict'
import { afterAll, beforeAll, test } from 'vitest'
import { installSchemathesis, explainMissingSchemathesis } from '../../tools/schemathesis.ts'
import { makeTempFolder } from '../support/product.ts'
import { type FuzzMarket, startFuzzMarket } from './fuzz-market.ts'
import { startProgram } from '../support/processes.ts'

const missing = explainMissingSchemathesis()
if (missing !== undefined) console.log(missing)

const EXAMPLES = '15'
const CONFIG = join(import.meta.dirname, '../../docs/api/schemathesis.toml')

let market: FuzzMarket
beforeAll(async () => {
  market = await startFuzzMarket({
    PENSTOCK_BUY_PER_MINUTE: '0',
    PENSTOCK_ORDERS_PER_IP: '0',
    PENSTOCK_ORDERS_PER_DESTINATION: '0',
  })
}, 120_000)
afterAll(() => market.product.stop())

/** Runs schemathesis, which tests an API by its OpenAPI document, in a temporary folder. @returns its exit code and output */
async function schemathesis(...args: readonly string[]): Promise<{ readonly code: number; readonly output: string }> {
  const cwd = makeTempFolder()
  cpSync(CONFIG, join(cwd, 'schemathesis.toml'))
  const begin = 'from schemathesis.cli import schemathesis; schemathesis(prog_name="schemathesis")'
  const { output, ended } = startProgram('python3', ['-c', begin, 'run', ...args, '--no-color'], {
    cwd,
    env: { ...process.env, PYTHONPATH: installSchemathesis() },
  })
  return { code: (await ended).code ?? -1, output: output() }
}

test.skipIf(missing !== undefined)('the LSPS1 API passes all checks of schemathesis against its OpenAPI document', async () => {
  const base = `${market.product.url}/api/lsp/v1`
  const { code, output } = await schemathesis(
    `${base}/openapi.json`,
    '--url',
    base,
    '--checks',
    'all',
    '--max-examples',
    EXAMPLES,
  )
  assert.match(output, /3 selected \/ 3 total/)
  assert.equal(code, 0, output)
})

test.skipIf(missing !== undefined)('schemathesis reports an answer that the document does not contain', async () => {
  const { url } = market.product
  const { code, output } = await schemathesis(`${url}/api/lsp/v1/openapi.json`, '--url', `${url}/nowhere`, '--max-examples', '5')
  assert.equal(code, 1, output)
})
