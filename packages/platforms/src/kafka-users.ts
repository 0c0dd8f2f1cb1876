export { userOf } from '@penstock/adapters/kafka/users.ts'
