import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readTerms } from './terms-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'penstock-terms-'))
afterAll(() => rmSync(folder, { recursive: true }))

const writeTerms = (text: string): string => {
  const path = join(folder, 'terms.json')
  writeFileSync(path, text)
  return path
}
const good = {
  total_size_sat: '9007199254740993',
  min_size_sat: '100000',
  max_size_sat: '16000000',
  min_block_length: 52_560,
  base_fee_sat: '200',
  fee_rate_ppm: 2000,
  base_fee_cap_sat: '1',
  fee_rate_cap_ppm: 500,
  auto_accept: true,
}

test('terms are read without rounding', () => {
  expect(readTerms(writeTerms(JSON.stringify(good)))).toEqual({
    totalSizeSat: 9_007_199_254_740_993n,
    minSizeSat: 100_000n,
    maxSizeSat: 16_000_000n,
    minBlockLength: 52_560,
    baseFeeSat: 200n,
    feeRatePpm: 2000,
    baseFeeCapSat: 1n,
    feeRateCapPpm: 500,
    autoAccept: true,
  })
  expect(readTerms(writeTerms(JSON.stringify({ ...good, onchain_multiplier: 3 }))).onchainMultiplier).toBe(3)
})

test('the error for an invalid terms file contains every fault', () => {
  const bad = writeTerms(JSON.stringify({ ...good, base_fee_sat: 200, fee_rate_ppm: -1, colour: 'red' }))
  expect(() => readTerms(bad)).toThrow(/base_fee_sat[^]*fee_rate_ppm|fee_rate_ppm[^]*base_fee_sat/)
  expect(() => readTerms(bad)).toThrow(/colour/)
  expect(() => readTerms(writeTerms('{'))).toThrow(/cannot be read as JSON/)
  expect(() => readTerms(join(folder, 'none.json'))).toThrow(/cannot be read/)
})
