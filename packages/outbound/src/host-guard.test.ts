import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { hostGuard, type Resolve } from './host-guard.ts'
import { FURTHER_IPV4, IPV4_REGISTRY, IPV6_REGISTRY } from './special-purpose.ts'

const onion = `${'a2'.repeat(28)}.onion`

/** A guard over a few names, and what it asked the name servers. */
function world(names: Record<string, readonly (readonly string[] | undefined)[]> = {}, tor: boolean | null = null) {
  const asked: string[] = []
  const resolve: Resolve = async (name) => {
    const answers = names[name] ?? [[]]
    return answers[Math.min(asked.push(name) - 1, answers.length - 1)]
  }
  return { asked, check: hostGuard({ resolve, hasTor: async () => tor }) }
}

const reasonOf = async (check: ReturnType<typeof hostGuard>, host: string): Promise<string | undefined> => {
  const checked = await check(host)
  return checked.allowed ? undefined : checked.reason
}

describe('addresses', () => {
  test.each([
    ['8.8.8.8', '8.8.8.8'],
    ['134744072', '8.8.8.8'],
    ['[2A00:1450:4001:80f:0:0:0:200e]', '[2a00:1450:4001:80f::200e]'],
  ])('%s is connected to as %s, and no name server is asked', async (host, to) => {
    const { check, asked } = world()
    expect(await check(host)).toEqual({ allowed: true, host: to })
    expect(asked).toEqual([])
  })
  test('the sentence names the block', async () => {
    expect(await reasonOf(world().check, '127.1')).toBe('127.0.0.1 is an address for special purposes (Loopback, RFC 1122)')
  })
})

describe('names', () => {
  test('the address that was checked is given back, never the name, and the name is resolved once', async () => {
    const { check, asked } = world({ 'node.example.org': [['2a00:1450::1', '8.8.4.4'], ['127.0.0.1']] })
    expect(await check('Node.Example.ORG.')).toEqual({ allowed: true, host: '8.8.4.4' })
    expect(asked).toEqual(['node.example.org'])
    // It changed between two checks: the second one sees it.
    expect(await reasonOf(check, 'node.example.org')).toMatch(/does not stand for public addresses alone$/)
  })
  test('IPv6 alone is put into brackets', async () => {
    expect(await world({ 'six.example.org': [['2a00:1450::1']] }).check('six.example.org')).toEqual({
      allowed: true,
      host: '[2a00:1450::1]',
    })
  })
  test.each([
    ['one address is private', ['8.8.8.8', '10.0.0.1']],
    ['the last address is private', ['8.8.8.8', '2a00:1450::1', '::ffff:127.0.0.1']],
    ['it has none', []],
    ['an answer is no address', ['8.8.8.8', 'fe80::1%eth0']],
  ])('a name is refused where %s, and the addresses are not told', async (_, addresses) => {
    const reason = await reasonOf(world({ 'node.example.org': [addresses] }).check, 'node.example.org')
    expect(reason).toBe('node.example.org does not stand for public addresses alone')
  })
  test('a name server that does not answer is said so', async () => {
    const { check } = world({ 'node.example.org': [undefined] })
    expect(await reasonOf(check, 'node.example.org')).toBe('node.example.org cannot be resolved just now; try again')
  })
  test.each([
    'db',
    'localhost',
    'a.localhost.',
    'printer.local',
    'vault.INTERNAL',
    'x.home.arpa',
    'x.svc.cluster.local',
    'ｌocalhost',
  ])('%s is refused without asking a name server', async (host) => {
    const { check, asked } = world()
    expect(await reasonOf(check, host)).toBeDefined()
    expect(asked).toEqual([])
  })
  test('an international name is asked for as the DNS knows it', async () => {
    const { check, asked } = world({ 'xn--mnchen-3ya.de': [['8.8.8.8']] })
    expect(await check('München.de')).toEqual({ allowed: true, host: '8.8.8.8' })
    expect(asked).toEqual(['xn--mnchen-3ya.de'])
  })
})

test.each([
  ['true', true, undefined],
  ['not told', null, undefined],
  ['false', false, `${onion} needs Tor, which our node does not use`],
])('an .onion name stays as it is where Tor is %s', async (_, tor, reason) => {
  const { check, asked } = world({}, tor)
  expect(await check(onion)).toEqual(reason === undefined ? { allowed: true, host: onion } : { allowed: false, reason })
  expect(asked).toEqual([])
})

test.each([
  'x.onion',
  `sub.${onion}`,
  '',
  '.',
  'a b',
  'a/b',
  'user@8.8.8.8',
  '8.8.8.8:80',
  '8.8.8.8#',
  '8.8.8.8?',
  '[::1',
  '%00.org',
])('%s is no host', async (host) => {
  expect(await reasonOf(world().check, host)).toMatch(/is no address and no public name$/)
})

/** An address of a block: its prefix with other bits behind it. */
const addressIn = (prefix: string, random: readonly number[]): number[] => {
  const [start, bits] = ipaddr.parseCIDR(prefix)
  return start.toByteArray().map((byte, index) => {
    const free = 0xff >> Math.min(8, Math.max(0, bits - 8 * index))
    return byte | ((random[index] ?? 0) & free)
  })
}

const fullWidth = (text: string): string =>
  text.replaceAll(/[0-9a-z.]/g, (char) => (char === '.' ? '。' : String.fromCharCode(char.charCodeAt(0) + 0xfee0)))
const percent = (text: string): string => text.replaceAll(/[0-9a-z]/g, (char) => `%${char.charCodeAt(0).toString(16)}`)
const hex = (bytes: readonly number[]): string => bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
const groups = (bytes: readonly number[]): string => hex(bytes).replaceAll(/(.{4})(?!$)/g, '$1:')

/** How one IPv4 address is written in texts, and carried in IPv6. */
function ipv4Spellings(bytes: readonly number[]): readonly string[] {
  const [a = 0, b = 0, c = 0, d = 0] = bytes
  const whole = ((a * 256 + b) * 256 + c) * 256 + d
  const plain = bytes.join('.')
  const texts = [
    plain,
    `${whole}`,
    `0x${whole.toString(16)}`,
    `0X${hex(bytes).toUpperCase()}`,
    `0${whole.toString(8)}`,
    bytes.map((byte) => `0${byte.toString(8)}`).join('.'),
    bytes.map((byte) => `0x${byte.toString(16)}`).join('.'),
    bytes.map((byte) => `000${byte.toString(8).padStart(3, '0')}`).join('.'),
    `${a}.${(b * 256 + c) * 256 + d}`,
    `0x${a.toString(16)}.0${b.toString(8)}.${c * 256 + d}`,
  ]
  const inverted = bytes.map((byte) => byte ^ 0xff)
  const carried = [
    `[::ffff:${plain}]`,
    `[::FFFF:${groups(bytes)}]`,
    `[0:0:0:0:0:ffff:${plain}]`,
    `[::${plain}]`,
    `[::ffff:0:${plain}]`,
    `[64:ff9b::${plain}]`,
    `[64:ff9b:1::${plain}]`,
    `[2002:${groups(bytes)}::1]`,
    `[2001:0:${groups([8, 8, 8, 8])}:8000:63bf:${groups(inverted)}]`,
    `[2001:0:${groups(bytes)}::1]`,
    `[2a00:1450::5efe:${plain}]`,
  ]
  return [...texts, ...texts.map((text) => `${text}.`), fullWidth(plain), percent(plain), ...carried]
}

function ipv6Spellings(bytes: readonly number[]): readonly string[] {
  const parsed = new ipaddr.IPv6([...bytes])
  const dotted = `${groups(bytes.slice(0, 12))}:${bytes.slice(12).join('.')}`
  const texts = [groups(bytes), groups(bytes).toUpperCase(), parsed.toRFC5952String(), parsed.toNormalizedString(), dotted]
  return texts.flatMap((text) => [`[${text}]`, `[${text}%eth0]`, `[${text}%25eth0]`, text, `[${text}].`])
}

describe('no address for special purposes passes', () => {
  const random = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 16, maxLength: 16 })
  test.each([...IPV4_REGISTRY, ...FURTHER_IPV4])('in any spelling: $prefix', async ({ prefix }) => {
    const { check } = world()
    await fc.assert(
      fc.asyncProperty(random, async (bits) => {
        for (const host of ipv4Spellings(addressIn(prefix, bits)))
          expect([host, (await check(host)).allowed]).toEqual([host, false])
      }),
      { numRuns: 25 },
    )
  })
  test.each(IPV6_REGISTRY)('in any spelling: $prefix', async ({ prefix }) => {
    const { check } = world()
    await fc.assert(
      fc.asyncProperty(random, async (bits) => {
        for (const host of ipv6Spellings(addressIn(prefix, bits)))
          expect([host, (await check(host)).allowed]).toEqual([host, false])
      }),
      { numRuns: 25 },
    )
  })
  test('by a name', async () => {
    const blocks = [...IPV4_REGISTRY, ...FURTHER_IPV4, ...IPV6_REGISTRY]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...blocks), random, fc.boolean(), async ({ prefix }, bits, isFirst) => {
        const address = ipaddr.fromByteArray(addressIn(prefix, bits)).toString()
        const { check } = world({ 'node.example.org': [isFirst ? [address, '8.8.8.8'] : ['8.8.8.8', address]] })
        expect((await check('node.example.org')).allowed).toBe(false)
      }),
    )
  })
})

test('rubbish is refused or stands for one host, and nothing is thrown', async () => {
  const { check } = world()
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.webAuthority()), async (given) => {
      const checked = await check(given)
      const host = checked.allowed ? checked.host.replace(/^\[(.*)\]$/, '$1') : '8.8.8.8'
      expect(ipaddr.isValid(host) || host.endsWith('.onion')).toBe(true)
    }),
    { numRuns: 300 },
  )
})
