import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { runSuccessfully } from '../support/processes.ts'
import { makeTempFolder, type Product, startProduct } from '../support/product.ts'

const GUIDE = join(import.meta.dirname, '../../docs/guides/payments.md')

let product: Product | undefined
beforeAll(async () => {
  product = await startProduct(makeTempFolder())
})
afterAll(async () => void (await product?.stop()))

/** The shell blocks of a page, in their order. */
const readShellBlocks = (page: string): readonly string[] =>
  [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, commands]) => commands ?? '')

test('the commands of the guide create an invoice in one shell, and show that it is paid', async () => {
  const { url } = product ?? assert.fail('the product did not start')
  const blocks = readShellBlocks(readFileSync(GUIDE, 'utf8'))
  expect(blocks.length).toBeGreaterThan(0)
  // The reader's shell goes on after a command that fails. The test ends there.
  const script = ['set -eu', ...blocks].join('\n')
  const env = { PATH: process.env['PATH'], URL: url }
  const { stdout, stderr } = await runSuccessfully('sh', ['-c', script], { env })
  expect(stderr).toBe('')
  expect(stdout).toMatch(/^(?:PENDING\n)*COMPLETED\n$/)
})
