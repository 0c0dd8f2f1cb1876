import { HOUR_MS } from '@penstock/kernel/time.ts'
import assert from 'node:assert/strict'
import { test } from 'vitest'
import { buyChannel } from '../support/market-client.ts'
import { openPage, running, useBrowser } from './browser.ts'

useBrowser()

test.each([2, -2, 24 * 40])('the countdown is right for a clock that is %i hours ahead', async (hours) => {
  const bought = await buyChannel(running())
  const page = await openPage()
  await page.clock.install({ time: Date.now() + hours * HOUR_MS })
  await page.goto(bought.page)
  await page.locator('[data-countdown]', { hasText: /in 59:\d\d/ }).waitFor()
  // The expiry is within the next hour, so its date stands there only if midnight is between.
  const expiry = new Date(Date.now() + HOUR_MS)
  const isToday = expiry.toDateString() === new Date().toDateString()
  const text = await page.locator('.expiry time').innerText()
  assert.equal(text.includes(`${expiry.getFullYear()}`), !isToday, text)

  await page.clock.fastForward(60_000)
  await page.locator('[data-countdown]', { hasText: /in 58:\d\d/ }).waitFor()
  // A clock that is set, or a machine that slept, makes the page ask the server. Really, no minute has passed.
  await page.clock.setSystemTime(Date.now() - hours * HOUR_MS)
  await page.locator('[data-countdown]', { hasText: /in 59:\d\d/ }).waitFor()
})
