import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'
import { test } from 'vitest'
import { buyChannel, paySimulatedInvoice, waitForStatus } from '../support/market-client.ts'
import { openPage, readHeadline, running, useBrowser } from './browser.ts'

useBrowser()

/** A browser without a window shows all its tabs, so the test says which one is hidden. */
const HIDDEN_FROM_START = `
  globalThis.isCovered = true
  Object.defineProperty(document, 'hidden', { get: () => globalThis.isCovered })`
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`globalThis.isCovered = ${isHidden}; document.dispatchEvent(new Event('visibilitychange'))`)

/** A browser opens six connections to a host. */
test('a ninth tab loads, because hidden tabs hold no connection', async () => {
  const bought = await buyChannel(running())
  const first = await openPage()
  const tabs = [first]
  while (tabs.length < 9) tabs.push(await first.context().newPage())
  for (const tab of tabs) {
    await tab.addInitScript(HIDDEN_FROM_START)
    await tab.goto(bought.page, { timeout: 10_000 })
    const mark = tab.locator('[data-connection]')
    assert.equal(await mark.isVisible(), false)
    await setHidden(tab, false)
    await mark.waitFor()
    await setHidden(tab, true)
    await mark.waitFor({ state: 'hidden' })
  }
  await paySimulatedInvoice(running(), bought.invoice)
  await waitForStatus(running(), bought, ['VALID_CHANNEL_OPENING'])
  assert.equal(await readHeadline(first), 'Pay to open your channel')
  await setHidden(first, false)
  await first.locator('h1', { hasText: 'Your channel is ready' }).waitFor()
})
