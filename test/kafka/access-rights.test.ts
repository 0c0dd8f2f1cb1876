import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { createKafkaClient } from '@penstock/adapters/kafka/client.ts'
import { type BusPermissions, grantTopics } from '@penstock/adapters/kafka/rights.ts'
import { mayGrant } from '@penstock/adapters/kafka/may-grant.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import { systemClock } from '@penstock/adapters/system/clock.ts'
import { kafkaUserOf } from '@penstock/config/kafka-users.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { KafkaServers } from '@penstock/servers/kafka.ts'
import type { KafkaLogins } from '@penstock/servers/kafka-settings.ts'
import type { Admin } from 'kafkajs'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { listProcessPermissions } from '../../services/cluster/src/process-permissions.ts'
import { createOrderChecker, createNumberedMessage, pollUntil } from './numbered-messages.ts'
import { createRawClient, readRefusal } from './raw-client.ts'
import { getSharedBroker, useOwnBrokers, createBusOptions, isKafkaMissing } from './servers.ts'

const USERS = 'm_'
const PREFIX = 'market.'
const granterLogin = { user: 'market', password: 'granter-secret' }
const all: readonly BusPermissions[] = listProcessPermissions()
const services = all.map(({ service }) => service)
const owners = all.filter(({ mayAppend }) => mayAppend)
const byUser = new Map(all.map((part) => [kafkaUserOf(USERS, part.service), part]))
const passwordOf = (service: string): string => `${service}-secret`
const logins: KafkaLogins = {
  granter: granterLogin,
  users: new Map(services.map((service) => [kafkaUserOf(USERS, service), passwordOf(service)])),
}
const commandsOf = (owner: string): readonly string[] =>
  all.filter(({ commands }) => commands.includes(owner)).map(({ service }) => `${owner}.commands.${service}`)
const topics = owners.flatMap(({ service }) => [`${service}.events`, `${service}.republish`, ...commandsOf(service)])

/** The expected answers by service and topic: 'yes', or the broker's error type. */
const answers = (mayDo: (part: BusPermissions, topic: string) => boolean): Readonly<Record<string, string>> =>
  Object.fromEntries(
    all.flatMap((part) =>
      topics.map((topic) => [`${part.service} at ${topic}`, mayDo(part, topic) ? 'yes' : 'TOPIC_AUTHORIZATION_FAILED']),
    ),
  )
const ownerOf = (topic: string): string => topic.split('.')[0] ?? ''
const mayWrite = ({ service, follows, commands }: BusPermissions, topic: string): boolean =>
  topic === `${service}.events` ||
  follows.some((owner) => topic === `${owner}.republish`) ||
  commands.some((owner) => topic === `${owner}.commands.${service}`)
const mayRead = ({ service, follows }: BusPermissions, topic: string): boolean =>
  follows.some((owner) => topic === `${owner}.events`) || (ownerOf(topic) === service && !topic.endsWith('.events'))

const loginOf = (servers: KafkaServers, username: string, password: string) => ({
  ...createBusOptions(servers, PREFIX),
  clientId: username,
  publishTimeoutMs: 4000,
  sasl: { mechanism: 'plain', username, password } as const,
})
const optionsOf = (servers: KafkaServers, service: string) => loginOf(servers, kafkaUserOf(USERS, service), passwordOf(service))

describe.skipIf(isKafkaMissing)('rights at the brokers', () => {
  // The tests about rights have brokers of their own, which require log-ins.
  const servers = useOwnBrokers({ logins })
  const opened: (() => Promise<void>)[] = []
  const grant = () => grantTopics({ ...loginOf(servers(), granterLogin.user, granterLogin.password), parts: byUser })
  async function busOf(service: string): Promise<Bus> {
    const views = openViews(':memory:')
    const bus = await kafkaBus(views, optionsOf(servers(), service))
    opened.push(async () => {
      await bus.close()
      await views.close()
    })
    return bus
  }
  const kafka = (service: string) => createKafkaClient(optionsOf(servers(), service), { retries: 0 })
  const publish = async (service: string, topic: string): Promise<void> =>
    (await busOf(service)).publish(topic, [createNumberedMessage('a', 0)])
  /** Resolves when the service, as a member of the group, has received a message. */
  async function waitForMessage(service: string, topic: string, group = service): Promise<void> {
    const checker = createOrderChecker()
    await (await busOf(service)).subscribe({ group, topic, handle: async (message) => (await checker.handle(message), 'done') })
    await pollUntil(() => checker.handled('a') > 0, 'a message')
  }
  async function adminOf(service: string): Promise<Admin> {
    const admin = kafka(service).admin()
    await admin.connect()
    opened.push(() => admin.disconnect())
    return admin
  }

  beforeAll(async () => {
    if (!isKafkaMissing) await grant()
  })
  afterEach(async () => {
    for (const close of opened.splice(0)) await close()
  })

  it('allow each service to publish and read what it needs', async () => {
    await publish('settlement', 'settlement.events')
    await publish('order', 'settlement.commands.order')
    await publish('gateway', 'settlement.commands.gateway')
    await publish('gateway', 'settlement.republish')
    await publish('channel-watcher', 'channel-watcher.events')
    await waitForMessage('gateway', 'settlement.events', 'gateway.orders.v2')
    await waitForMessage('settlement', 'settlement.commands.order')
    await waitForMessage('settlement', 'settlement.commands.gateway')
    await waitForMessage('settlement', 'settlement.republish')
    await waitForMessage('settlement', 'channel-watcher.events')
  })

  it('allow a service to write only to its own topics, also with another client program', async () => {
    const results: Record<string, string> = {}
    for (const { service } of all) {
      const producer = kafka(service).producer({ allowAutoTopicCreation: false, retry: { retries: 0 } })
      await producer.connect()
      opened.push(() => producer.disconnect())
      for (const topic of topics) {
        const sent = producer.send({ topic: PREFIX + topic, messages: [{ key: 'a', value: '{}', partition: 0 }] })
        results[`${service} at ${topic}`] = await readRefusal(sent)
      }
    }
    expect(results).toEqual(answers(mayWrite))
  })

  it('allow a service to read only events that it follows and messages to it, also with another client program', async () => {
    const results: Record<string, string> = {}
    for (const { service } of all) {
      const client = await createRawClient(kafka(service))
      opened.push(() => client.close())
      for (const topic of topics) results[`${service} at ${topic}`] = await client.fetch(PREFIX + topic)
    }
    expect(results).toEqual(answers(mayRead))
  })

  it.each(all)(
    'allow $service to join groups and commit offsets only in its own groups',
    async ({ service, mayAppend, follows }) => {
      const client = await createRawClient(kafka(service))
      opened.push(() => client.close())
      const groups = services.flatMap((other) => [other, `${other}.orders`, `${other}s`])
      const joined: Record<string, string> = {}
      for (const group of groups) joined[group] = await client.join(PREFIX + group)
      const mayJoin = mayAppend || follows.length > 0
      const isOwn = (group: string): boolean => mayJoin && (group === service || group.startsWith(`${service}.`))
      const expected = groups.map((group) => [group, isOwn(group) ? 'yes' : 'GROUP_AUTHORIZATION_FAILED'])
      expect(joined).toEqual(Object.fromEntries(expected))
      const foreign = groups.filter((group) => !isOwn(group))
      const moved = await Promise.all(foreign.map((group) => client.commit(PREFIX + group, `${PREFIX}order.events`)))
      expect(new Set(moved)).toEqual(new Set(['GROUP_AUTHORIZATION_FAILED']))
    },
  )

  it.each(services)('do not allow %s to change rights, change or delete topics, or create foreign topics', async (service) => {
    expect(await mayGrant(optionsOf(servers(), service), systemClock, new AbortController().signal)).toBe(false)
    const admin = await adminOf(service)
    const principal = `User:${kafkaUserOf(USERS, service)}`
    const acl = {
      resourceType: 2,
      resourceName: '*',
      resourcePatternType: 3,
      principal,
      host: '*',
      operation: 2,
      permissionType: 3,
    }
    expect(await readRefusal(admin.createAcls({ acl: [acl] }))).toBe('CLUSTER_AUTHORIZATION_FAILED')
    expect(await readRefusal(admin.deleteAcls({ filters: [{ ...acl, principal: `User:${kafkaUserOf(USERS, 'order')}` }] }))).toBe(
      'CLUSTER_AUTHORIZATION_FAILED',
    )
    for (const topic of topics.map((name) => PREFIX + name)) {
      const answers = [
        await readRefusal(admin.deleteTopics({ topics: [topic] })),
        await readRefusal(admin.createPartitions({ topicPartitions: [{ topic, count: 9 }] })),
        await readRefusal(
          admin.alterConfigs({
            validateOnly: false,
            resources: [{ type: 2, name: topic, configEntries: [{ name: 'retention.ms', value: '1' }] }],
          }),
        ),
      ]
      expect(answers.filter((answer) => !/_AUTHORIZATION_FAILED/.test(answer))).toEqual([])
    }
    const foreign = `${PREFIX}${service === 'order' ? 'quote' : 'order'}.more`
    expect(await readRefusal(admin.createTopics({ topics: [{ topic: foreign }] }))).toBe('TOPIC_AUTHORIZATION_FAILED')
    const client = await createRawClient(kafka(service))
    opened.push(() => client.close())
    expect(await client.beginTransaction(`${PREFIX}${service}`)).toBe('TRANSACTIONAL_ID_AUTHORIZATION_FAILED')
  })

  it('reject a client without a login or with a wrong password', async () => {
    const anonymous = createKafkaClient({ brokers: servers().brokers, clientId: 'nobody' }, { retries: 0 }).admin()
    await expect(anonymous.connect().then(() => anonymous.listTopics())).rejects.toThrow(/clos|connect/i)
    await anonymous.disconnect().catch(() => undefined)
    const wrongLogin = createKafkaClient(loginOf(servers(), kafkaUserOf(USERS, 'gateway'), 'guessed'), { retries: 0 }).admin()
    await expect(wrongLogin.connect()).rejects.toThrow(/[Aa]uthentication/)
  })

  it('are replaced by each grant, which removes rights that an administrator added', async () => {
    const admin = createKafkaClient(loginOf(servers(), granterLogin.user, granterLogin.password)).admin()
    await admin.connect()
    opened.push(() => admin.disconnect())
    const principal = `User:${kafkaUserOf(USERS, 'audit')}`
    const any = { resourceType: 1, resourcePatternType: 1, operation: 1, permissionType: 1 }
    const ofAudit = async () => (await admin.describeAcls({ principal, ...any })).resources.flatMap(({ acls }) => acls)
    const before = await ofAudit()
    const everything = { resourceType: 2, resourceName: '*', resourcePatternType: 3 }
    await admin.createAcls({ acl: [{ ...everything, principal, host: '*', operation: 2, permissionType: 3 }] })
    expect(await ofAudit()).toHaveLength(before.length + 1)
    await grant()
    expect(await ofAudit()).toEqual(before)
  })
})

describe.skipIf(isKafkaMissing)('brokers that check no rights', () => {
  it('make the grant fail, and let any client change rights', async () => {
    const granting = grantTopics({ ...createBusOptions(getSharedBroker(), PREFIX), parts: byUser })
    await expect(granting).rejects.toThrow('The brokers check no rights')
    expect(await mayGrant(createBusOptions(getSharedBroker(), PREFIX), systemClock, new AbortController().signal)).toBe(true)
  })
})

describe.skipIf(isKafkaMissing)('brokers that allow every request to a resource without ACLs', () => {
  const servers = useOwnBrokers({ logins, settings: { 'allow.everyone.if.no.acl.found': 'true' } })
  it('let a service change all rights, and the service detects this', async () => {
    const { signal } = new AbortController()
    expect(await mayGrant(optionsOf(servers(), 'order'), systemClock, signal)).toBe(true)
  })
})
