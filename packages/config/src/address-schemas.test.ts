import { describe, expect, test } from 'vitest'
import { ConfigError } from './config-error.ts'
import { type Config, readConfig, variables } from './config.ts'

/** The settings that are the base address of a service. */
const webAddresses = ['publicUrl', 'marketUrl', 'auditUrl', 'simnetUrl', 'otlpUrl'] as const

const readValue = (key: keyof Config, value: string): unknown => readConfig({ [variables[key].name]: value })[key]

const readError = (key: keyof Config, value: string): string => {
  try {
    readValue(key, value)
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
  return ''
}

test('each setting that is an address has the schema of an address', () => {
  const addresses = Object.values(variables).filter(({ name }) => /_URL$|_SOCKET$|_BROKERS$|_EVENT_STORE$/.test(name))
  expect(addresses).toHaveLength(11)
  const listAccepting = (value: string) => addresses.filter(({ schema }) => schema.safeParse(value).success)
  for (const value of ['market.example', 'javascript:alert(1)']) expect(listAccepting(value)).toEqual([])
  expect(listAccepting('')).toEqual(addresses)
})

describe.each(webAddresses)('%s', (key) => {
  test.each([
    ['https://market.example', 'https://market.example'],
    ['https://market.example/', 'https://market.example'],
    [' https://market.example//\n', 'https://market.example'],
    ['HTTPS://Market.Example:443/Shop/', 'https://market.example/Shop'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
    ['http://gateway:8080', 'http://gateway:8080'],
    ['https://märkte.example', 'https://xn--mrkte-gra.example'],
    ['', ''],
  ])('%j is read as %j', (value, expected) => {
    expect(readValue(key, value)).toBe(expected)
  })

  test.each([
    ['market.example', /must be an http:\/\/ or https:\/\/ address with a host, such as https:\/\/market\.example\./],
    ['javascript:alert(1)', /with a host/],
    ['ftp://market.example', /with a host/],
    ['//market.example', /with a host/],
    ['https:market.example', /with a host/],
    ['https://', /with a host/],
    ['https:///path', /with a host/],
    ['https://market example', /with a host/],
    ['https://market.example:99999', /with a host/],
    ['https://mar\nket.example', /with a host/],
    ['https://user:hunter2@market.example', /without a user and a password/],
    ['https://user@market.example', /without a user and a password/],
    ['https://market.example/?a=b', /without \? and #/],
    ['https://market.example/#a', /without \? and #/],
  ])('%j is refused with the name of the setting and the form of the value', (value, sentence) => {
    const error = readError(key, value)
    expect(error).toContain(`${variables[key].name} is "`)
    expect(error).toMatch(sentence)
    expect(error).not.toContain('hunter2')
  })
})

test('the address of a token endpoint may have a query, and keeps the slash at its end', () => {
  for (const value of ['https://login.example/token/', 'https://login.example/token?policy=a'])
    expect(readValue('kafkaTokenUrl', value)).toBe(value)
  expect(readError('kafkaTokenUrl', 'https://user:hunter2@login.example/')).toMatch(/KAFKA_TOKEN_URL .* without a user/)
})

describe.each(['postgresUrl', 'eventStore'] as const)('%s', (key) => {
  test.each([
    'postgres://penstock@postgres:5432/penstock',
    'postgresql://penstock:p%3Fa%3As%2Fs%40%25@[::1]/market?sslmode=require',
    'postgres://u:a:b@host/db',
    'postgres:///market?host=/run/postgresql',
    'postgres://market:pw@%2Fvar%2Frun%2Fpostgresql/market',
  ])('%s is accepted as it is', (value) => {
    expect(readValue(key, value)).toBe(value)
  })

  test.each([
    ['a question mark', 'hunter2?x'],
    ['a question mark after digits', '1?hunter2'],
    ['a slash', 'hunter2/x'],
    ['a slash after digits', '1/hunter2'],
    ['a hash', 'hunter2#x'],
    ['an at sign and a slash', 'hunter2@x/y'],
    ['a percent sign', 'hunter2%x'],
  ])('a password with %s is refused with the hint to encode it, and is not shown', (_, password) => {
    const error = readError(key, `postgres://penstock:${password}@db/market`)
    expect(error).toContain(`${variables[key].name} is "postgres://…@db/market"; it must be `)
    expect(error).toContain('percent-encoded, such as %3F for ?')
    expect(error).not.toContain('hunter2')
  })

  test.each(['mysql://db/market', 'postgres://', 'postgres://user@/db', 'postgres://a,b/db', 'postgres://db:x/market'])(
    '%s is refused',
    (value) => {
      expect(readError(key, value)).toMatch(/must be a .*postgres:\/\/ url/)
    },
  )

  test('a password among the options of a refused url is not shown', () => {
    expect(readError(key, 'postgres://a b/db?password=hunter2&x=y')).toMatch(/password=…&x=y/)
  })
})

test('the url of an event store may name several hosts of a KurrentDB', () => {
  for (const value of [
    'kurrentdb://kurrentdb:2113?tls=false',
    'esdb+discover://u:p@a:2113',
    'kurrentdb://u:p@a:2113,b:2113,[::1]:2113/?tls=true',
  ])
    expect(readValue('eventStore', value)).toBe(value)
  for (const value of ['kurrentdb://', 'kurrentdb://a,,b', 'kurrentdb://u:a?b@host:2113', 'kurrentdb://a b'])
    expect(readError('eventStore', value)).toMatch(/PENSTOCK_EVENT_STORE is/)
})

test('the url of a bitcoin node has no options', () => {
  expect(readError('bitcoindUrl', 'http://user:hunter2?x@host:8332')).toMatch(/percent-encoded/)
  expect(readError('bitcoindUrl', 'http://user@host:8332?a=b')).toMatch(/without \? and #/)
})

test('sockets and brokers are host:port', () => {
  expect(readValue('lndSocket', ' lnd:10009\n')).toBe('lnd:10009')
  expect(readValue('kafkaBrokers', 'a:9092, [::1]:9093 ,c.example:9094')).toBe('a:9092,[::1]:9093,c.example:9094')
  expect(readValue('kafkaBrokers', 'a:9092,,b:9092,')).toBe('a:9092,b:9092')
  for (const value of ['lnd', 'https://lnd:10009', 'lnd:10009,lnd:10010', 'lnd:99999'])
    expect(readError('lndSocket', value)).toMatch(/PENSTOCK_LND_SOCKET is ".*"; it must be host:port\./)
  for (const value of ['a', ',', 'kafka://a:9092', 'a:9092;b:9092', 'a:9092 b:9092'])
    expect(readError('kafkaBrokers', value)).toMatch(/PENSTOCK_KAFKA_BROKERS is/)
})
