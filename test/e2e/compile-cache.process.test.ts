import { existsSync, readdirSync } from 'node:fs'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { makeTempFolder, startProduct } from '../support/product.ts'

test('a market saves its compiled modules while it runs, so that they exist after kill -9', async () => {
  const folder = makeTempFolder()
  const countModules = () => (existsSync(folder) ? readdirSync(folder, { recursive: true }).length : 0)
  const product = await startProduct(makeTempFolder(), { NODE_COMPILE_CACHE: folder })
  await waitUntil('the modules are saved', () => countModules() > 500)
  await product.kill()
  expect(countModules()).toBeGreaterThan(500)
})
