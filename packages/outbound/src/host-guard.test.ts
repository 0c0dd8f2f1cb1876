import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, test } from 'vitest'
import { createPublicHostGuard, type NameResolver } from './host-guard.ts'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_REGISTRY } from './special-purpose.ts'

const onion = `${'a2'.repeat(28)}.onion`

/** A guard over a few names. `asked` lists the names that the guard resolved. */
function createPorts(names: Record<string, readonly (readonly string[] | undefined)[]> = {}, tor: boolean | null = null) {
  const asked: string[] = []
  const resolve: NameResolver = async (name) => {
    const answers = names[name] ?? [[]]
    return answers[Math.min(asked.push(name) - 1, answers.length - 1)]
  }
  return { asked, check: createPublicHostGuard({ resolve, hasTor: async () => tor }) }
}

const reasonOf = async (check: ReturnType<typeof createPublicHostGuard>, host: string): Promise<string | undefined> => {
  const checked = await check(host)
  return checked.allowed ? undefined : checked.reason
}

describe('addresses', () => {
  test.each([
    ['8.8.8.8', '8.8.8.8'],
    ['134744072', '8.8.8.8'],
    ['[2A00:1450:4001:80f:0:0:0:200e]', '[2a00:1450:4001:80f::200e]'],
  ])('%s is allowed as %s, without a query to a name server', async (host, to) => {
    const { check, asked } = createPorts()
    expect(await check(host)).toEqual({ allowed: true, host: to })
    expect(asked).toEqual([])
  })
  test('the reason of a refusal names the special-purpose block of the address', async () => {
    expect(await reasonOf(createPorts().check, '127.1')).toBe('127.0.0.1 is an address for special purposes (Loopback, RFC 1122)')
  })
})

describe('names', () => {
  test('a name is resolved once, and the result is a checked address instead of the name', async () => {
    const { check, asked } = createPorts({ 'node.example.org': [['2a00:1450::1', '8.8.4.4'], ['127.0.0.1']] })
    expect(await check('Node.Example.ORG.')).toEqual({ allowed: true, host: '8.8.4.4' })
    expect(asked).toEqual(['node.example.org'])
    // The name has another address at the second check.
    expect(await reasonOf(check, 'node.example.org')).toMatch(/does not stand for public addresses alone$/)
  })
  test('the only address of a name is returned in brackets if it is IPv6', async () => {
    expect(await createPorts({ 'six.example.org': [['2a00:1450::1']] }).check('six.example.org')).toEqual({
      allowed: true,
      host: '[2a00:1450::1]',
    })
  })
  test.each([
    ['one address is private', ['8.8.8.8', '10.0.0.1']],
    ['the last address is private', ['8.8.8.8', '2a00:1450::1', '::ffff:127.0.0.1']],
    ['it has none', []],
    ['an answer is no address', ['8.8.8.8', 'fe80::1%eth0']],
  ])('a name is refused if %s, and the reason contains no address', async (_, addresses) => {
    const reason = await reasonOf(createPorts({ 'node.example.org': [addresses] }).check, 'node.example.org')
    expect(reason).toBe('node.example.org does not stand for public addresses alone')
  })
  test('a name is refused with the advice to try again if no name server answers', async () => {
    const { check } = createPorts({ 'node.example.org': [undefined] })
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
  ])('%s is refused without a query to a name server', async (host) => {
    const { check, asked } = createPorts()
    expect(await reasonOf(check, host)).toBeDefined()
    expect(asked).toEqual([])
  })
  test('an internationalised name is resolved in its ASCII form', async () => {
    const { check, asked } = createPorts({ 'xn--mnchen-3ya.de': [['8.8.8.8']] })
    expect(await check('München.de')).toEqual({ allowed: true, host: '8.8.8.8' })
    expect(asked).toEqual(['xn--mnchen-3ya.de'])
  })
})

test.each([
  ['true', true, undefined],
  ['not told', null, undefined],
  ['false', false, `${onion} needs Tor, which our node does not use`],
])('an .onion name is refused only if the node reports that it has no Tor: %s', async (_, tor, reason) => {
  const { check, asked } = createPorts({}, tor)
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
  expect(await reasonOf(createPorts().check, host)).toMatch(/is no address and no public name$/)
})

/** An address in a block: the block's prefix, followed by the given bits. */
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

/** All spellings of an IPv4 address: as text, and embedded in IPv6 addresses. */
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

describe('a special-purpose address is refused', () => {
  const random = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 16, maxLength: 16 })
  test.each([...IPV4_REGISTRY, ...ADDITIONAL_IPV4])('in any spelling: $prefix', async ({ prefix }) => {
    const { check } = createPorts()
    await fc.assert(
      fc.asyncProperty(random, async (bits) => {
        for (const host of ipv4Spellings(addressIn(prefix, bits)))
          expect([host, (await check(host)).allowed]).toEqual([host, false])
      }),
      { numRuns: 25 },
    )
  })
  test.each(IPV6_REGISTRY)('in any spelling: $prefix', async ({ prefix }) => {
    const { check } = createPorts()
    await fc.assert(
      fc.asyncProperty(random, async (bits) => {
        for (const host of ipv6Spellings(addressIn(prefix, bits)))
          expect([host, (await check(host)).allowed]).toEqual([host, false])
      }),
      { numRuns: 25 },
    )
  })
  test('as an address of a name', async () => {
    const blocks = [...IPV4_REGISTRY, ...ADDITIONAL_IPV4, ...IPV6_REGISTRY]
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...blocks), random, fc.boolean(), async ({ prefix }, bits, isFirst) => {
        const address = ipaddr.fromByteArray(addressIn(prefix, bits)).toString()
        const { check } = createPorts({ 'node.example.org': [isFirst ? [address, '8.8.8.8'] : ['8.8.8.8', address]] })
        expect((await check('node.example.org')).allowed).toBe(false)
      }),
    )
  })
})

test('arbitrary text is refused or gives one host, and the guard never throws', async () => {
  const { check } = createPorts()
  await fc.assert(
    fc.asyncProperty(fc.oneof(fc.string({ unit: 'binary', maxLength: 80 }), fc.webAuthority()), async (given) => {
      const checked = await check(given)
      const host = checked.allowed ? checked.host.replace(/^\[(.*)\]$/, '$1') : '8.8.8.8'
      expect(ipaddr.isValid(host) || host.endsWith('.onion')).toBe(true)
    }),
    { numRuns: 300 },
  )
})
