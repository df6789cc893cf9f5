/* SPDX-License-Identifier: MIT */
#include "protocol/job_member.h"

#include "protocol/token.h"

const char *job_member_place(struct muster_bytes member)
{
    const char *text = member.data;
    size_t at = member.len > 0 && *text == '!' ? 1 + TOKEN_LEN : 0;
    return member.len > at + TOKEN_LEN ? text + at : NULL;
}

const char *job_member_id(struct muster_bytes member)
{
    const char *place = job_member_place(member);
    return place ? place + TOKEN_LEN : NULL;
}
