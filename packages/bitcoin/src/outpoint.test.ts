import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  formatOutpoint,
  formatShortChannelId,
  validateFundingOutpoint,
  normaliseOutpoint,
  parseOutpoint,
  parseShortChannelId,
} from './outpoint.ts'

const txid = 'ab'.repeat(32)

test('an outpoint is normalised to lower case', () => {
  expect(normaliseOutpoint(`${txid.toUpperCase()}:1`)).toBe(`${txid}:1`)
  expect(parseOutpoint(`${txid}:4294967295`)).toEqual({ txid, vout: 4294967295 })
})

test.each([
  'nonsense',
  txid,
  `${txid}:`,
  `${txid}:-1`,
  `${txid}:01`,
  `${txid}:1.0`,
  `${txid}:4294967296`,
  `${txid.slice(1)}:0`,
  `${'zz'.repeat(32)}:0`,
  ` ${txid}:0`,
  `${txid}:0\n`,
])('"%s" is not an outpoint', (text) => expect(normaliseOutpoint(text)).toBeUndefined())

test('the output index of a funding outpoint has to fit into a short channel id', () => {
  for (const vout of [0, 65_535]) expect(validateFundingOutpoint(`${txid}:${vout}`)).toBeUndefined()
  for (const vout of [65_536, 2_147_483_648, 4_294_967_295])
    expect(validateFundingOutpoint(`${txid}:${vout}`)).toMatch(/at most 65535; a short channel id cannot name a higher one$/)
  expect(validateFundingOutpoint('nonsense')).toBe('transaction must be in <txid>:<vout> format')
})

test('formatted outpoints and short channel ids parse to the same values', () => {
  fc.assert(fc.property(fc.nat(0xffff_ffff), (vout) => parseOutpoint(formatOutpoint({ txid, vout }))?.vout === vout))
  fc.assert(
    fc.property(fc.nat(0xff_ffff), fc.nat(0xff_ffff), fc.nat(0xffff), (height, txIndex, vout) => {
      expect(parseShortChannelId(formatShortChannelId({ height, txIndex, vout }))).toEqual({ height, txIndex, vout })
    }),
  )
})

test.each(['', '1x2', '1x2x3x4', 'axbxc', '1x2x65536', '16777216x0x0', '-1x0x0'])('"%s" is not a short channel id', (text) => {
  expect(parseShortChannelId(text)).toBeUndefined()
})
