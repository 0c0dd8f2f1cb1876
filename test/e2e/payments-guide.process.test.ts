import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findFreePort } from '@penstock/servers/free-port.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runSuccessfully } from '../support/processes.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/payments.md')

let product: Product | undefined
beforeAll(async () => {
  product = await startProduct(makeTempFolder(), { PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1' })
})
afterAll(async () => void (await product?.stop()))

/** The shell blocks of a page, in their order. */
const readShellBlocks = (page: string): readonly string[] =>
  [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands ?? '')

test('the commands of the guide show in one shell that an invoice is paid, and its webhooks with their attempts', async () => {
  const { url } = product ?? assert.fail('the product did not start')
  const blocks = readShellBlocks(readFileSync(GUIDE, 'utf8'))
  expect(blocks.length).toBeGreaterThan(0)
  // The reader's shell goes on after a command that fails. The test ends there, and then its receiver has to end too.
  const script = ['set -eu', `trap 'kill "\${RECEIVER:-}" 2> /dev/null || true' EXIT`, ...blocks].join('\n')
  const env = { PATH: process.env['PATH'], URL: url, RECEIVER_PORT: `${await findFreePort()}`, TMPDIR: makeTempFolder() }
  const { stdout, stderr } = await runSuccessfully('sh', ['-c', script], { env })
  expect(stderr).toBe('')
  const [, paid] = /^(?:PENDING\n)*COMPLETED\npayment\.pending (\S+)\n/.exec(stdout) ?? assert.fail(stdout)
  expect(stdout).toContain(`payment.pending ${paid}\npayment.completed ${paid}\nPENDING\n[`)
  const attempts = [...stdout.matchAll(/attempt_number: (\d+),\s+status: '(\w+)',\s+http_status: (\d+)/g)]
  expect(attempts.map(([, ...attempt]) => attempt)).toEqual([
    ['1', 'SUCCESS', '204'],
    ['2', 'SUCCESS', '204'],
  ])
})
