import { kafkaBus } from '@penstock/adapters/kafka/bus.ts'
import { kafkaClient } from '@penstock/adapters/kafka/client.ts'
import { type BusPart, grantTopics } from '@penstock/adapters/kafka/rights.ts'
import { userOf } from '@penstock/platforms/kafka-users.ts'
import { openViews } from '@penstock/adapters/sqlite/views.ts'
import type { Bus } from '@penstock/ports/bus.ts'
import type { Logins } from '@penstock/servers/kafka-settings.ts'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ledger, numbered, until } from './load.ts'
import { brokers, busOptions, noKafka } from './servers.ts'

const USERS = 'm_'
const PREFIX = 'market.'
const granter = { user: 'market', password: 'granter-secret' }
const parts: readonly BusPart[] = [
  { service: 'settlement', follows: ['channel-watcher'], commands: [], appends: true },
  { service: 'channel-watcher', follows: [], commands: [], appends: true },
  { service: 'gateway', follows: ['settlement'], commands: ['settlement'], appends: false },
  { service: 'audit', follows: [], commands: [], appends: false },
]
const byUser = new Map(parts.map((part) => [userOf(USERS, part.service), part]))
const passwordOf = (service: string): string => `${service}-secret`
const logins: Logins = {
  granter,
  users: new Map(parts.map(({ service }) => [userOf(USERS, service), passwordOf(service)])),
}

describe.skipIf(noKafka)('rights at the brokers', () => {
  const servers = brokers({ logins })
  const opened: (() => Promise<void>)[] = []
  const optionsOf = (username: string, password: string) => ({
    ...busOptions(servers(), PREFIX),
    clientId: username,
    publishTimeoutMs: 4000,
    sasl: { mechanism: 'plain', username, password } as const,
  })
  const grant = () => grantTopics({ ...optionsOf(granter.user, granter.password), parts: byUser })
  async function busOf(service: string, password = passwordOf(service)): Promise<Bus> {
    const views = openViews(':memory:')
    const bus = await kafkaBus(views, optionsOf(userOf(USERS, service), password))
    opened.push(async () => {
      await bus.close()
      await views.close()
    })
    return bus
  }
  const kafka = (service: string) => kafkaClient(optionsOf(userOf(USERS, service), passwordOf(service)), { retries: 1 })
  const publish = async (service: string, topic: string): Promise<void> =>
    (await busOf(service)).publish(topic, [numbered('a', 0)])
  /** @returns whether a message of the topic's owner reached it as a member of the group */
  async function reads(service: string, topic: string, group = service): Promise<boolean> {
    const bus = await busOf(service)
    const seen = ledger()
    const joined = bus.subscribe({ group, topic, handle: async (message) => (await seen.see(message), 'done') })
    return Promise.race([
      joined
        .then(() => until(() => seen.handled('a') > 0, 'a message'))
        .then(
          () => true,
          () => false,
        ),
      joined.then(
        () => new Promise<never>(() => undefined),
        () => false,
      ),
    ])
  }

  beforeAll(async () => {
    if (!noKafka) await grant()
  })
  afterEach(async () => {
    for (const close of opened.splice(0)) await close()
  })

  it('let each service do what it has to', async () => {
    await publish('settlement', 'settlement.events')
    await publish('gateway', 'settlement.commands')
    await publish('gateway', 'settlement.republish')
    await publish('channel-watcher', 'channel-watcher.events')
    expect(await reads('gateway', 'settlement.events', 'gateway.orders.v2')).toBe(true)
    expect(await reads('settlement', 'settlement.commands')).toBe(true)
    expect(await reads('settlement', 'settlement.republish')).toBe(true)
    expect(await reads('settlement', 'channel-watcher.events')).toBe(true)
  })

  it.each([
    ['gateway', "settlement's facts", 'settlement.events'],
    ['gateway', "the watcher's facts", 'channel-watcher.events'],
    ['gateway', 'commands to a service that it never commands', 'channel-watcher.commands'],
    ['channel-watcher', "settlement's facts", 'settlement.events'],
    ['channel-watcher', 'commands to settlement', 'settlement.commands'],
    ['settlement', "the watcher's facts", 'channel-watcher.events'],
    ['audit', 'anything', 'settlement.commands'],
  ])('refuse %s %s, whatever client it uses', async (service, _, topic) => {
    await expect(publish(service, topic)).rejects.toThrow(/no right to it|Not authorized/)
    const producer = kafka(service).producer({ allowAutoTopicCreation: false, retry: { retries: 0 } })
    await producer.connect()
    try {
      const sent = producer.send({ topic: PREFIX + topic, messages: [{ key: 'a', value: '{}', partition: 0 }] })
      await expect(sent).rejects.toThrow(/[Nn]ot authorized/)
    } finally {
      await producer.disconnect()
    }
  })

  it('refuse to read what a service does not follow, and to take the place of another in its group', async () => {
    const join = async (service: string, topic: string, groupId: string): Promise<void> => {
      const consumer = kafka(service).consumer({ groupId: PREFIX + groupId, retry: { retries: 1 } })
      try {
        await consumer.connect()
        await consumer.subscribe({ topics: [PREFIX + topic], fromBeginning: true })
        const ended = new Promise<never>((_, reject) => consumer.on('consumer.crash', ({ payload }) => reject(payload.error)))
        const going = new Promise<void>((resolve) => consumer.on('consumer.fetch', () => resolve()))
        await consumer.run({ eachMessage: async () => undefined })
        await Promise.race([ended, going])
      } finally {
        await consumer.disconnect()
      }
    }
    await join('gateway', 'settlement.events', 'gateway@settlement.events')
    await expect(join('gateway', 'channel-watcher.events', 'gateway@channel-watcher.events')).rejects.toThrow(
      /authorized|group coordinator/,
    )
    await expect(join('gateway', 'settlement.commands', 'settlement@settlement.commands')).rejects.toThrow(
      /authorized|group coordinator/,
    )
    await expect(join('gateway', 'settlement.events', 'settlement@settlement.events')).rejects.toThrow(
      /authorized|group coordinator/,
    )
  })

  it('let nobody in without a log-in, nor with a wrong password', async () => {
    const nobody = kafkaClient({ brokers: servers().brokers, clientId: 'nobody' }, { retries: 0 }).admin()
    await expect(nobody.connect().then(() => nobody.listTopics())).rejects.toThrow(/clos|connect/i)
    await nobody.disconnect().catch(() => undefined)
    const wrong = kafkaClient(optionsOf(userOf(USERS, 'gateway'), 'guessed'), { retries: 0 }).admin()
    await expect(wrong.connect()).rejects.toThrow(/[Aa]uthentication/)
  })

  it('are set anew each time: what a service no longer needs is taken back, and so is what somebody added', async () => {
    const admin = kafkaClient(optionsOf(granter.user, granter.password)).admin()
    await admin.connect()
    try {
      const principal = `User:${userOf(USERS, 'audit')}`
      const any = { resourceType: 1, resourcePatternType: 1, operation: 1, permissionType: 1 }
      const ofAudit = async () => (await admin.describeAcls({ principal, ...any })).resources.flatMap(({ acls }) => acls)
      const before = await ofAudit()
      const all = { resourceType: 2, resourceName: '*', resourcePatternType: 3 }
      await admin.createAcls({ acl: [{ ...all, principal, host: '*', operation: 2, permissionType: 3 }] })
      expect(await ofAudit()).toHaveLength(before.length + 1)
      await grant()
      expect(await ofAudit()).toEqual(before)
    } finally {
      await admin.disconnect()
    }
  })
})

describe.skipIf(noKafka)('brokers that check no rights', () => {
  const servers = brokers()
  it('are told of as what they are', async () => {
    const granting = grantTopics({ ...busOptions(servers(), PREFIX), parts: byUser })
    await expect(granting).rejects.toThrow('The brokers check no rights')
  })
})
