import assert from 'node:assert/strict'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { findChromium } from '../../tools/chromium.ts'
import { type Product, makeTempFolder, startProduct } from '../support/product.ts'

const executablePath = findChromium()
const args = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]
export const desktop: BrowserContextOptions = { viewport: { width: 1280, height: 900 } }

let product: Product | undefined
let browser: Browser | undefined
/** Errors of the pages: a script that failed, or a console error such as a breach of the content security policy. */
export const complaints: string[] = []

/** Starts a market and a browser for the tests of a file, which skip if there is no browser. */
export function useBrowser(): void {
  beforeAll(async () => {
    if (executablePath === undefined) return
    product = await startProduct(makeTempFolder(), { PENSTOCK_SIM_BLOCK_SECONDS: '1' })
    browser = await chromium.launch({ executablePath, args })
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await product?.stop()
  })
  beforeEach((context) => {
    if (executablePath === undefined) context.skip('No Chromium found; set PENSTOCK_CHROMIUM to its path.')
  })
}

export const running = (): Product => product ?? assert.fail('the product did not start')

/** Opens a page in a browser context of its own, without an address. */
export async function openPage(options: BrowserContextOptions = desktop): Promise<Page> {
  const context = await (browser ?? assert.fail('the browser did not start')).newContext(options)
  const page = await context.newPage()
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()))
  return page
}

export async function visit(url: string, options?: BrowserContextOptions): Promise<Page> {
  const page = await openPage(options)
  await page.goto(url)
  return page
}

export const readHeadline = (page: Page) => page.locator('h1').innerText()
