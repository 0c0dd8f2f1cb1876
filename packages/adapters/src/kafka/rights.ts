import { Fault } from '@penstock/kernel/result.ts'
import kafkajs, { type AclEntry, type Admin } from 'kafkajs'
import { systemClock } from '../system/clock.ts'
import { briefRetry, type ClientOptions, kafkaClient } from './client.ts'
import { topicKeeper, type TopicSettings } from './topics.ts'

// Node finds no names of its enums by itself.
const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs

/** What a process may do on the bus. */
export type BusPart = {
  readonly service: string
  /** Services whose facts it follows. */
  readonly follows: readonly string[]
  /** Services that it commands. */
  readonly commands: readonly string[]
  /** Whether it has streams: it publishes their facts, and is commanded. */
  readonly appends: boolean
}

export type Grants = ClientOptions &
  TopicSettings & {
    /** Of topics and groups. */
    readonly prefix: string
    /** By the name of the brokers' user. */
    readonly parts: ReadonlyMap<string, BusPart>
  }

type Right = Pick<AclEntry, 'resourceType' | 'resourceName' | 'resourcePatternType' | 'operation'>

const TOPICS = ['events', 'commands', 'republish'] as const
const topicsOf = (prefix: string, service: string): readonly string[] => TOPICS.map((kind) => `${prefix}${service}.${kind}`)

/**
 * Makes the topics, and gives each service's user the rights of its part and no other. Users are made by whoever runs the
 * brokers: how depends on the mechanism by which they log in.
 * @throws Error with a sentence where the brokers check no rights, or may not be told of any
 */
export async function grantTopics({ prefix, parts, ...options }: Grants): Promise<void> {
  const kafka = kafkaClient(options, briefRetry)
  const topics = topicKeeper(kafka, options, systemClock, options.log)
  const admin = kafka.admin()
  try {
    const owners = [...parts.values()].filter(({ appends }) => appends)
    await Promise.all(owners.flatMap(({ service }) => topicsOf(prefix, service)).map((topic) => topics.ensure(topic)))
    await admin.connect()
    for (const [user, part] of parts) await grant(admin, `User:${user}`, rightsOf(prefix, part))
  } catch (error) {
    throw new Error(sentenceOf(error), { cause: error })
  } finally {
    await topics.close()
    await admin.disconnect().catch(() => undefined)
  }
}

/** Adds what is missing before it takes anything away: nobody is without a right that stays. */
async function grant(admin: Admin, principal: string, wanted: readonly Right[]): Promise<void> {
  const { resources } = await admin.describeAcls({ principal, ...ANY })
  const present = resources.flatMap(({ acls, ...resource }) => acls.map((acl) => ({ ...resource, ...acl })))
  const entries = wanted.map((right) => ({ ...right, principal, host: '*', permissionType: AclPermissionTypes.ALLOW }))
  const [has, wants] = [new Set(present.map(keyOf)), new Set(entries.map(keyOf))]
  const missing = entries.filter((entry) => !has.has(keyOf(entry)))
  const surplus = present.filter((entry) => !wants.has(keyOf(entry)))
  if (missing.length > 0) await admin.createAcls({ acl: missing })
  if (surplus.length > 0)
    await admin.deleteAcls({
      filters: surplus.map(({ resourcePatternType, ...entry }) => ({ ...entry, resourcePatternType })),
    })
}

const ANY = {
  resourceType: AclResourceTypes.ANY,
  resourcePatternType: ResourcePatternTypes.ANY,
  operation: AclOperationTypes.ANY,
  permissionType: AclPermissionTypes.ANY,
}

const keyOf = (entry: AclEntry): string =>
  [entry.resourceType, entry.resourcePatternType, entry.resourceName, entry.operation, entry.permissionType, entry.host].join(' ')

/**
 * A service makes and reads its own topics, publishes its own facts, follows those of others, and commands those that it
 * has to. It asks owners for facts that did not arrive. Its groups are named `<service>@<topic>` and `<service>.<more>@<topic>`.
 */
function rightsOf(prefix: string, { service, follows, commands, appends }: BusPart): readonly Right[] {
  const topic = (name: string, operation: number): Right => ({
    resourceType: AclResourceTypes.TOPIC,
    resourceName: prefix + name,
    resourcePatternType: ResourcePatternTypes.LITERAL,
    operation,
  })
  const group = (start: string): Right => ({
    resourceType: AclResourceTypes.GROUP,
    resourceName: prefix + start,
    resourcePatternType: ResourcePatternTypes.PREFIXED,
    operation: AclOperationTypes.READ,
  })
  const { CREATE, DESCRIBE, READ, WRITE } = AclOperationTypes
  const own = [
    ...TOPICS.flatMap((kind) => [topic(`${service}.${kind}`, CREATE), topic(`${service}.${kind}`, DESCRIBE)]),
    topic(`${service}.events`, WRITE),
    topic(`${service}.commands`, READ),
    topic(`${service}.commands`, WRITE),
    topic(`${service}.republish`, READ),
  ]
  return [
    ...(appends ? own : []),
    ...follows.flatMap((owner) => [topic(`${owner}.events`, READ), topic(`${owner}.republish`, WRITE)]),
    ...commands.map((owner) => topic(`${owner}.commands`, WRITE)),
    group(`${service}@`),
    group(`${service}.`),
  ]
}

function sentenceOf(error: unknown): string {
  const type = error instanceof Error && 'type' in error ? error.type : undefined
  if (type === 'SECURITY_DISABLED')
    return 'The brokers check no rights: set their authorizer.class.name, or leave PENSTOCK_KAFKA_USERS empty.'
  if (type === 'CLUSTER_AUTHORIZATION_FAILED')
    return 'The user that the job logs in as may not set rights at the brokers; it needs Alter and Describe of the cluster.'
  const reason = error instanceof Fault || error instanceof Error ? error.message : String(error)
  return `The rights at the brokers could not be set: ${reason}`
}
