import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { onTestFinished, test } from 'vitest'
import { buyChannel, paySimulatedInvoice, waitForStatus } from '../support/market-client.ts'
import { openPage, readHeadline, running, useBrowser } from './browser.ts'
import { startSilentProxy } from './silent-proxy.ts'

useBrowser()

/** Opens pages of a checkout whose connections then go silent, and lets its order be paid and its channel be opened. */
async function openSilencedPages(count: number): Promise<readonly Page[]> {
  const bought = await buyChannel(running())
  const proxy = await startSilentProxy(running().url)
  onTestFinished(() => proxy.close())
  const pages = await Promise.all(Array.from({ length: count }, () => openPage()))
  for (const page of pages) {
    await page.clock.install()
    await page.goto(proxy.through(bought.page))
    await page.locator('[data-connection]', { hasText: 'live' }).waitFor()
  }
  proxy.silence()
  await paySimulatedInvoice(running(), bought.invoice)
  await waitForStatus(running(), bought, ['VALID_CHANNEL_OPENING'])
  for (const page of pages) assert.equal(await readHeadline(page), 'Pay to open your channel')
  return pages
}

const waitForReady = (page: Page) => page.locator('h1', { hasText: 'Your channel is ready' }).waitFor({ timeout: 45_000 })

test('a page whose stream goes silent opens another, and shows the present state', async () => {
  for (const page of await openSilencedPages(1)) {
    await page.clock.fastForward(46_000)
    await waitForReady(page)
  }
})

test('a page that is online or shown again, or comes out of the cache, shows the present state', async () => {
  const events = [
    "dispatchEvent(new Event('online'))",
    "document.dispatchEvent(new Event('visibilitychange'))",
    "dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))",
  ]
  const pages = await openSilencedPages(events.length)
  await Promise.all(
    pages.map(async (page, index) => {
      await page.evaluate(events[index] ?? '')
      await waitForReady(page)
    }),
  )
})

test('a page is not marked as live while it cannot be loaded', async () => {
  const bought = await buyChannel(running())
  const page = await openPage()
  await page.goto(bought.page)
  await page.locator('[data-connection]', { hasText: 'live' }).waitFor()
  await page.route(/\/checkout\/[^/]+$/, (route) => route.fulfill({ status: 502 }))
  await paySimulatedInvoice(running(), bought.invoice)
  await page.locator('[data-connection]').waitFor({ state: 'hidden' })
  await page.unrouteAll()
  await waitForReady(page)
})
