import { waitUntil } from '@penstock/testkit/wait-until.ts'
import { expect, test } from 'vitest'
import { startProgram } from '../support/processes.ts'
import { FAST_SETTINGS, getChildEnvironment, makeTempFolder } from '../support/product.ts'

/** Starts the market with its demonstration. @returns its output when the demonstration has ended */
async function readDemonstration(settings: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...getChildEnvironment(), ...FAST_SETTINGS, PORT: '0', PENSTOCK_DATA_DIR: makeTempFolder(), ...settings }
  const { child, output, ended } = startProgram(process.execPath, ['services/standalone/src/main.ts'], { env })
  try {
    await waitUntil('the demonstration ends', () => /^(?:Paid: |.*failed|.*in time)/m.test(output()), 240_000, 50)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
  return output()
}

test('the start sells a channel, then takes a payment and shows its webhooks, in three lines', async () => {
  const output = await readDemonstration({})
  const lines = output.split('\n')
  const sold = lines.findIndex((line) => line.startsWith('Sold: '))
  expect(lines.slice(sold + 1, sold + 4)).toEqual([
    'A demonstration: a payment in a sandbox, with its webhooks.',
    expect.stringMatching(/^ {2}invoice {3}1000 sat {2}lnbcrt\w+…$/),
    'Paid: payment.pending and payment.completed reached the shop as webhooks, each with a valid signature.',
  ])
  expect(output).not.toContain('PENSTOCK_WEBHOOK_ALLOW_LOOPBACK')
})

test('the start prints one line if webhooks may go to loopback', async () => {
  const output = await readDemonstration({ PENSTOCK_WEBHOOK_ALLOW_LOOPBACK: '1' })
  expect(output.split('\n').filter((line) => line.includes('PENSTOCK_WEBHOOK_ALLOW_LOOPBACK'))).toEqual([
    'PENSTOCK_WEBHOOK_ALLOW_LOOPBACK is 1, so webhooks may call programs on this machine. Set it for development only.',
  ])
})
