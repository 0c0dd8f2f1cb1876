import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import jsQr from 'jsqr'
import type { Page } from 'playwright-core'
import { describe, test } from 'vitest'
import { buyChannel, waitForStatus, paySimulatedInvoice } from '../support/market-client.ts'
import { complaints, desktop, openPage, readHeadline, running, useBrowser, visit } from './browser.ts'

const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 }
const noScript = { ...desktop, javaScriptEnabled: false }

useBrowser()

/** Takes pictures for the documents. They differ with each purchase, so existing files are kept unless SCREENSHOTS is 1. */
async function takePicture(page: Page, name: string, fullPage = false): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    const path = join(import.meta.dirname, `../../docs/images/${name}${colorScheme === 'dark' ? '-dark' : ''}.png`)
    if (existsSync(path) && process.env['SCREENSHOTS'] !== '1') continue
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.screenshot({ path, fullPage, animations: 'disabled' })
  }
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'no-preference' })
}

/** Reads the QR code of the page as a wallet's camera would. @returns undefined if it is unreadable */
async function scanQrCode(page: Page): Promise<string | undefined> {
  const png = await page.locator('.qr').screenshot()
  const canvas = await page.context().newPage()
  const pixels = await canvas.evaluate<{ width: number; height: number; data: number[] }>(`(async () => {
    const image = new Image()
    image.src = 'data:image/png;base64,${png.toString('base64')}'
    await image.decode()
    const drawing = new OffscreenCanvas(image.width, image.height).getContext('2d')
    drawing.drawImage(image, 0, 0)
    const { width, height, data } = drawing.getImageData(0, 0, image.width, image.height)
    return { width, height, data: [...data] }
  })()`)
  await canvas.close()
  return jsQr.default(Uint8ClampedArray.from(pixels.data), pixels.width, pixels.height)?.data
}

describe('the pages of an order', () => {
  test('show the payment and the opening without a reload', async () => {
    const bought = await buyChannel(running(), { redirect_url: 'https://shop.example/thanks?cart=42' })
    const page = await visit(bought.page)
    assert.equal(await readHeadline(page), 'Pay to open your channel')
    assert.equal(await page.locator('#invoice').innerText(), bought.invoice)
    assert.equal(await page.locator('a.primary').getAttribute('href'), `lightning:${bought.invoice}`)
    assert.equal(await scanQrCode(page), `lightning:${bought.invoice.toUpperCase()}`)
    await page.locator('[data-countdown]', { hasText: /in 59:\d\d/ }).waitFor()
    await page.locator('[data-connection]', { hasText: 'live' }).waitFor()
    await takePicture(page, 'checkout')
    const small = await visit(bought.page, phone)
    assert.equal(await small.evaluate<number>('document.documentElement.scrollWidth'), 390)
    await takePicture(small, 'checkout-phone')

    // Marks the document. A reload would remove the mark.
    await page.evaluate('globalThis.unchanged = true')
    await paySimulatedInvoice(running(), bought.invoice)
    await page.locator('h1', { hasText: 'Your channel is confirming' }).waitFor({ timeout: 30_000 })
    assert.equal(await page.locator('#invoice').count(), 0)
    await takePicture(page, 'timeline', true)
    await takePicture(small, 'timeline-phone', true)
    await page.locator('h1', { hasText: 'Your channel is ready' }).waitFor({ timeout: 60_000 })
    assert.equal(await page.evaluate('globalThis.unchanged'), true)
    assert.equal(await page.locator('#announcement').textContent(), 'Your channel is ready')
    assert.equal(await page.locator('.timeline .done').count(), 8)
    assert.ok((await page.content()).includes('VALID_CHANNEL_OPENING'))

    const onward = page.locator('a.primary')
    assert.equal(await onward.innerText(), 'Continue to shop.example')
    assert.equal(await onward.getAttribute('href'), 'https://shop.example/thanks?cart=42')
    assert.equal(page.url(), bought.page)
    for (const shown of [page, small]) assert.ok(!(await shown.content()).includes(bought.id))
    assert.deepEqual(complaints, [])
  })

  test('copy the invoice with one click', async () => {
    const bought = await buyChannel(running())
    const page = await visit(bought.page, { ...desktop, permissions: ['clipboard-write'] })
    await page.getByRole('button', { name: 'Copy invoice' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    // The page's permissions policy forbids scripts to read the clipboard, so the keyboard pastes the invoice.
    await page.evaluate("document.body.append(Object.assign(document.createElement('textarea'), { id: 'paste' }))")
    await page.locator('#paste').focus()
    await page.keyboard.press('ControlOrMeta+v')
    assert.equal(await page.locator('#paste').inputValue(), bought.invoice)
  })

  test('show the order without scripts, before and after the payment', async () => {
    const bought = await buyChannel(running())
    const page = await visit(bought.page, noScript)
    assert.equal(await page.locator('#invoice').innerText(), bought.invoice)
    assert.equal(await page.getByRole('button').count(), 0)
    assert.match(await page.locator('.expiry').innerText(), /^Expires at \d\d:\d\d:\d\d UTC$/)
    await paySimulatedInvoice(running(), bought.invoice)
    await waitForStatus(running(), bought, ['VALID_CHANNEL_OPENING'])
    await page.reload()
    assert.equal(await readHeadline(page), 'Your channel is ready')
    assert.equal(await page.locator('.eyebrow').innerText(), 'VALID_CHANNEL_OPENING')
    await page.getByRole('link', { name: 'Status page of this order' }).click()
    assert.match(page.url(), /\/orders\/[\w-]{43}$/)
    assert.equal(await readHeadline(page), 'Your channel is ready')
  })

  test('poll for changes if the event stream is blocked', async () => {
    const bought = await buyChannel(running())
    const page = await openPage()
    await page.route('**/events', (route) => route.fulfill({ status: 503 }))
    await page.goto(bought.page)
    await paySimulatedInvoice(running(), bought.invoice)
    await page.locator('h1', { hasText: 'Your channel is ready' }).waitFor({ timeout: 60_000 })
  })
})

test('the start page, an unknown and a malformed address fit a phone', async () => {
  for (const path of ['/', '/nothing', '/checkout/%E0%A4%A']) {
    const page = await visit(running().url + path, phone)
    assert.equal(await page.evaluate<number>('document.documentElement.scrollWidth'), 390)
    assert.ok((await readHeadline(page)).length > 10)
  }
})

test('a request for the headers of a stream ends, and its connection serves the next request', async () => {
  const bought = await buyChannel(running())
  const page = await visit(bought.page)
  const answers = await page.evaluate<unknown>(`(async () => {
    const answers = []
    for (let count = 0; count < 30; count++) {
      for (const [method, path] of [['HEAD', '/events'], ['GET', '']]) {
        const answer = await fetch(location.href + path, { method, cache: 'no-store', signal: AbortSignal.timeout(10_000) })
        answers.push(answer.status, (await answer.text()).length > 0)
      }
    }
    return answers
  })()`)
  assert.deepEqual(answers, Array.from({ length: 30 }, () => [200, false, 200, true]).flat())
})
