import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createPublicHostGuard, type NameResolver } from './host-guard.ts'
import { ADDITIONAL_IPV4, IPV4_REGISTRY, IPV6_REGISTRY } from './special-purpose.ts'
import { checkWebhookTarget, checkWebhookUrl } from './webhook-url.ts'

const strict = { allowLoopback: false }
const development = { allowLoopback: true }

/** A guard to which one name is known. */
function createGuard(addresses: readonly string[] | undefined = ['8.8.8.8']) {
  const resolved: string[] = []
  const resolve: NameResolver = async (name) => {
    resolved.push(name)
    return addresses
  }
  return { resolved, guard: createPublicHostGuard({ resolve, hasTor: async () => false }) }
}

const reasonOf = (result: { ok: boolean; reason?: string }): string | undefined => result.reason

describe('the text of a webhook URL', () => {
  test.each([
    ['https://hooks.example.org', 'https://hooks.example.org/'],
    ['HTTPS://Hooks.Example.ORG:443/a?b=c&d', 'https://hooks.example.org/a?b=c&d'],
    ['https://hooks.example.org:1024/', 'https://hooks.example.org:1024/'],
    ['https://hooks.example.org:65535/', 'https://hooks.example.org:65535/'],
    ['https://hooks.example.org./a', 'https://hooks.example.org/a'],
    ['https://hooks.example.org.:8443/a', 'https://hooks.example.org:8443/a'],
    ['https://bücher.example.org/', 'https://xn--bcher-kva.example.org/'],
    ['https://134744072/', 'https://8.8.8.8/'],
    ['https://[2A00:1450::1]:8443/', 'https://[2a00:1450::1]:8443/'],
    ['https://hooks.example.org/%2e%2e/ä', 'https://hooks.example.org/%C3%A4'],
  ])('%s is stored as %s', (text, url) => {
    expect(checkWebhookUrl(text, strict)).toEqual({ ok: true, url })
    expect(checkWebhookUrl(url, strict)).toEqual({ ok: true, url })
  })

  test.each([
    ['http://hooks.example.org/', 'A webhook URL begins with https://.'],
    ['ftp://hooks.example.org/', 'A webhook URL begins with https://.'],
    ['javascript:alert(1)', 'A webhook URL begins with https://.'],
    ['https://user:word@hooks.example.org/', 'A webhook URL has no user name and no password.'],
    ['https://user@hooks.example.org/', 'A webhook URL has no user name and no password.'],
    ['https://8.8.8.8@10.0.0.1/', 'A webhook URL has no user name and no password.'],
    ['https://hooks.example.org/#part', 'A webhook URL has no fragment, because a fragment is never sent.'],
    ['https://hooks.example.org:0/', 'The port of a webhook URL is 443, or at least 1024.'],
    ['https://hooks.example.org:22/', 'The port of a webhook URL is 443, or at least 1024.'],
    ['https://hooks.example.org:80/', 'The port of a webhook URL is 443, or at least 1024.'],
    ['https://hooks.example.org:1023/', 'The port of a webhook URL is 443, or at least 1024.'],
    ['https://localhost/', 'The host of a webhook URL is a public address or a public name.'],
    ['https://db/', 'The host of a webhook URL is a public address or a public name.'],
    ['https://under_score.example.org/', 'The host of a webhook URL is a public address or a public name.'],
    [`https://${'a2'.repeat(28)}.onion/`, 'The host of a webhook URL is a public address or a public name.'],
    [`https://hooks.example.org/${'a'.repeat(2048)}`, 'A webhook URL has at most 2048 characters.'],
  ])('%s is refused: %s', (text, reason) => {
    expect(checkWebhookUrl(text, strict)).toEqual({ ok: false, reason })
  })

  test.each([
    '',
    'nonsense',
    '//hooks.example.org/',
    'https://',
    'https:///',
    'https://hooks.example.org:65536/',
    'https://hooks.example.org:-1/',
    ' https://hooks.example.org/',
    'https://hooks.example.org/\n',
    'https://hooks.exa\tmple.org/',
    'https://hooks.example.org/a b',
    'https:\\\\hooks.example.org\\',
    'https://hooks.example.org\\@10.0.0.1/',
    'https://hooks.example.org/\u0000',
    'https://[fe80::1%25eth0]/',
    'https://[fe80::1%eth0]/',
    'https://[::1/',
    'https://1.2.3.4.5/',
    'https://256.256.256.256/',
    'https://xn--a/',
  ])('%j is no absolute https URL', (text) => {
    expect(checkWebhookUrl(text, strict).ok).toBe(false)
  })

  test('a stored URL passes the check again unchanged, for arbitrary text', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.webUrl({ withQueryParameters: true }),
          fc.string(),
          fc.webAuthority().map((a) => `https://${a}/`),
        ),
        (text) => {
          const checked = checkWebhookUrl(text, strict)
          expect(checked.ok ? checkWebhookUrl(checked.url, strict) : checked).toEqual(checked)
        },
      ),
    )
  })
})

describe('the target of a webhook', () => {
  test('a name that stands for public addresses is allowed, and the guard resolves it once', async () => {
    const { guard, resolved } = createGuard()
    expect(await checkWebhookTarget(guard, 'https://Hooks.Example.ORG./a', strict)).toEqual({
      ok: true,
      url: 'https://hooks.example.org/a',
    })
    expect(resolved).toEqual(['hooks.example.org'])
  })

  test('an invalid URL is refused without a query to a name server', async () => {
    const { guard, resolved } = createGuard()
    expect(await checkWebhookTarget(guard, 'http://hooks.example.org/', strict)).toMatchObject({ ok: false })
    expect(await checkWebhookTarget(guard, 'https://hooks.example.org:81/', strict)).toMatchObject({ ok: false })
    expect(resolved).toEqual([])
  })

  test.each([
    [['10.0.0.1'], 'The webhook URL is refused: hooks.example.org does not stand for public addresses alone.'],
    [['8.8.8.8', '::1'], 'The webhook URL is refused: hooks.example.org does not stand for public addresses alone.'],
    [[], 'The webhook URL is refused: hooks.example.org does not stand for public addresses alone.'],
  ])('a name with the addresses %j is refused, and the reason contains no address', async (addresses, reason) => {
    expect(await checkWebhookTarget(createGuard(addresses).guard, 'https://hooks.example.org/', strict)).toEqual({
      ok: false,
      reason,
    })
  })

  test('a name is refused while no name server answers', async () => {
    const guard = createPublicHostGuard({ resolve: async () => undefined, hasTor: async () => false })
    expect(reasonOf(await checkWebhookTarget(guard, 'https://hooks.example.org/', strict))).toBe(
      'The webhook URL is refused: hooks.example.org cannot be resolved just now; try again.',
    )
  })

  test.each([...IPV4_REGISTRY, ...ADDITIONAL_IPV4, ...IPV6_REGISTRY])(
    'an address in $prefix is refused, with and without loopback allowed',
    async ({ prefix }) => {
      const address = prefix.replace(/\/.*/, '')
      const isLoopbackBlock = prefix === '127.0.0.0/8' || prefix === '::1/128'
      const host = address.includes(':') ? `[${address}]` : address
      const { guard } = createGuard()
      expect(await checkWebhookTarget(guard, `https://${host}/`, strict)).toMatchObject({ ok: false })
      expect((await checkWebhookTarget(guard, `https://${host}/`, development)).ok).toBe(isLoopbackBlock)
    },
  )

  test.each([
    'https://169.254.169.254/latest/meta-data/',
    'https://[fd00:ec2::254]/',
    'https://100.100.100.200/',
    'https://metadata.google.internal/',
    'https://2852039166/',
    'https://0251.0376.0251.0376/',
    'https://0xa9fea9fe/',
    'https://0xa9.0xfe.0xa9.0xfe/',
    'https://169.16689662/',
    'https://１６９.２５４.１６９.２５４/',
    'https://[::ffff:169.254.169.254]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[::169.254.169.254]/',
    'https://[::ffff:0:169.254.169.254]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[64:ff9b:1::169.254.169.254]/',
    'https://[2002:a9fe:a9fe::1]/',
    'https://[2001:0:a9fe:a9fe::1]/',
    'https://169.254.169.254./',
    'https://printer.local/',
    'https://db.internal/',
    'https://api.svc.cluster.local./',
    'https://router.home.arpa/',
  ])('%s is refused in both modes', async (text) => {
    const { guard, resolved } = createGuard()
    for (const options of [strict, development])
      expect(await checkWebhookTarget(guard, text, options)).toMatchObject({ ok: false })
    expect(resolved).toEqual([])
  })
})

describe('loopback', () => {
  const urls = [
    'http://127.0.0.1:3000/hook',
    'https://127.0.0.1/',
    'http://127.255.255.254:80/',
    'http://[::1]:22/',
    'http://localhost:1/',
    'http://2130706433:8080/',
    'http://127.1:8080/',
  ]
  test.each(urls)('%s is allowed only with the option, without a query to a name server', async (text) => {
    const { guard, resolved } = createGuard(['127.0.0.1'])
    expect(checkWebhookUrl(text, development)).toEqual({ ok: true, url: new URL(text).href })
    expect(await checkWebhookTarget(guard, text, development)).toEqual({ ok: true, url: new URL(text).href })
    expect(await checkWebhookTarget(guard, text, strict)).toMatchObject({ ok: false })
    expect(resolved).toEqual([])
  })
  test.each([
    'ftp://127.0.0.1/',
    'ws://127.0.0.1/',
    'http://user@127.0.0.1/',
    'http://127.0.0.1/#a',
    'http://128.0.0.1/',
    'http://0.0.0.0/',
    'http://[::]/',
    'http://[::ffff:127.0.0.1]/',
    'http://a.localhost/',
    'http://localhost.example.org/',
    'http://127.0.0.1.example.org/',
    'http://hooks.example.org/',
    'https://hooks.example.org/',
    'https://10.0.0.1/',
  ])('the option does not allow %s', async (text) => {
    const { guard } = createGuard(['127.0.0.1'])
    expect(await checkWebhookTarget(guard, text, development)).toMatchObject({ ok: false })
  })
})
