import { expect, test } from 'vitest'
import { isThisMachine, resolveMarketAddress } from './market-address.ts'

const names: Readonly<Record<string, readonly string[]>> = {
  localhost: ['127.0.0.1', '::1'],
  'localhost.evil.example': ['203.0.113.9'],
  'half.example': ['127.0.0.1', '198.51.100.4'],
  'rebound.example': ['::ffff:203.0.113.9'],
}
const resolve = (host: string): Promise<readonly string[]> => Promise.resolve(names[host] ?? [])

test.each([
  'http://127.0.0.1:8080',
  'http://localhost:8080/',
  'http://127.8.9.10',
  'http://[::1]:8080',
  'http://[::ffff:127.0.0.1]:8080',
  'http://2130706433:8080', // 127.0.0.1 as one number
  'http://0x7f.1/',
  'https://127.1',
  'http://127.0.0.1./',
])('%s is this machine', async (url) => {
  const marketAddress = await resolveMarketAddress(url, false, resolve)
  expect(isThisMachine(marketAddress)).toBe(true)
})

test.each([
  'http://localhost.evil.example',
  'http://half.example',
  'http://rebound.example',
  'http://0.0.0.0:8080', // any address of this machine, and on some systems of others
  'http://[::]:8080',
  'http://134744072', // 8.8.8.8 as one number
  'http://[::ffff:8.8.8.8]',
  'http://10.0.0.5',
  'http://192.168.1.1',
  'http://169.254.169.254',
  'http://[fe80::1]',
])('%s is refused without --i-own-this', async (url) => {
  await expect(resolveMarketAddress(url, false, resolve)).rejects.toThrow(/not this machine's loopback: say --i-own-this/)
  const marketAddress = await resolveMarketAddress(url, true, resolve)
  expect(isThisMachine(marketAddress)).toBe(false)
})

test.each([
  ['nonsense', /not the address of a market/],
  ['ftp://127.0.0.1', /not the address of a market/],
  ['127.0.0.1:8080', /not the address of a market/],
  ['http://user:secret@127.0.0.1', /no user, query or fragment/],
  ['http://127.0.0.1/?a=1', /no user, query or fragment/],
  ['http://nowhere.example', /nowhere\.example cannot be found/],
])('%s is refused even with --i-own-this', async (url, sentence) => {
  await expect(resolveMarketAddress(url, false, resolve)).rejects.toThrow(sentence)
  await expect(resolveMarketAddress(url, true, resolve)).rejects.toThrow(sentence)
})
