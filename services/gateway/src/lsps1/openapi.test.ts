import assert from 'node:assert/strict'
import { test } from 'vitest'
import {
  addSeller,
  lspHarness,
  makeOrderBody,
  postOrder,
  reopenLspHarness,
  sampleOfferTerms,
  useLspHarness,
} from './lsps1.fixture.ts'

useLspHarness()

type Property = {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly examples?: readonly unknown[]
}
type Document = {
  readonly components: { readonly schemas: { readonly CreateOrder: { readonly properties: Readonly<Record<string, Property>> } } }
}
/** Reads the fields of an order from the served document. */
async function listBodyProperties(): Promise<readonly (readonly [string, Property])[]> {
  const response = await fetch(`${lspHarness.base}/api/lsp/v1/openapi.json`)
  const { components } = (await response.json()) as Document // another test compares the whole document
  return Object.entries(components.schemas.CreateOrder.properties)
}

test.each([6, 20])('the service accepts the examples of its document if the minimum is %s blocks to confirm', async (minimum) => {
  await lspHarness.close()
  await reopenLspHarness({ PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: `${minimum}` })
  await addSeller(1)
  const examples = (await listBodyProperties()).filter(([, { examples: shown }]) => shown !== undefined)
  const body: Record<string, unknown> = { announce_channel: true }
  for (const [name, { examples: shown }] of examples) body[name] = shown?.[0]
  const { status } = await postOrder(body)
  assert.deepEqual([status, examples.length, body['funding_confirms_within_blocks']], [200, 6, minimum])
})

test('the service accepts the minimums and the longest lease of its document, and refuses numbers outside its bounds', async () => {
  await lspHarness.close()
  await reopenLspHarness({ PENSTOCK_FUNDING_CONFIRMS_WITHIN_BLOCKS: '20', PENSTOCK_MAX_CHANNEL_EXPIRY_BLOCKS: '20000' })
  await addSeller(1, undefined, { promises: { ...sampleOfferTerms.promises, minBlockLength: 20_000 } })
  const bounds = (await listBodyProperties()).filter(([, { type }]) => type === 'integer')
  assert.deepEqual(
    bounds.map(([name, { minimum, maximum }]) => [name, minimum, maximum]),
    [
      ['required_channel_confirmations', 1, 65_535],
      ['funding_confirms_within_blocks', 20, 65_535],
      ['channel_expiry_blocks', 1, 20_000],
    ],
  )
  const readStatus = async (name: string, value: number) =>
    (await postOrder(makeOrderBody({ funding_confirms_within_blocks: 20, [name]: value }))).status
  for (const [name, { minimum = NaN, maximum = NaN }] of bounds) {
    const statuses = [await readStatus(name, minimum - 1), await readStatus(name, minimum), await readStatus(name, maximum + 1)]
    assert.deepEqual(statuses, [400, 200, 400], name)
  }
  assert.equal(await readStatus('channel_expiry_blocks', 20_000), 200)
})
