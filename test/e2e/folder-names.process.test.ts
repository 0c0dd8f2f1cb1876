import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { buyChannel } from '../support/market-client.ts'
import { makeTempFolder, startProduct } from '../support/product.ts'

const root = join(import.meta.dirname, '../..')

test('a market runs in a checkout and a data folder whose names have blanks, umlauts and percent signs', async () => {
  const checkout = join(makeTempFolder(), 'a b ü 100%25')
  for (const part of ['packages', 'services', 'package.json'])
    cpSync(join(root, part), join(checkout, part), { recursive: true, verbatimSymlinks: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const market = await startProduct(join(checkout, 'data ö #1'), {}, checkout)
  onTestFinished(() => void market.kill())
  const { page } = await buyChannel(market)
  for (const path of ['/', '/graphql', new URL(page).pathname]) {
    const response = await fetch(`${market.url}${path}`, { headers: { accept: 'text/html' } })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  }
  await market.operator('POST', '/audit/verify', {})
  expect(await market.stop()).toBe(0)
})
