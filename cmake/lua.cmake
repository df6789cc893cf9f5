# SPDX-License-Identifier: MIT
#
# Embeds the Lua scripts as bytes: expands their includes, checks them, and writes lua_scripts.c and lua_scripts.h.
# lua/README.md tells which folder holds what, and the laws for scripts and includes; this file checks them.
#
# At configure time this file gives muster_embed_lua(). At build time it runs itself as a script (cmake -P), so that an
# edit to a script, an include, the list of errors or the list of keys embeds again.
#
# Checked:
#   names      no two scripts and no two includes have the same name, in whatever folders they lie
#   includes   each one exists, none goes in a circle, none uses KEYS or ARGV; an include or a script that uses
#              something of another include includes that one, itself or by way of another; a name is defined by one
#              include only; a constant that is used is defined; with `--- @within "x"`, only x includes this one
#   inline     each piece of lua/inline/ that is mentioned exists, and stands within a block
#   contracts  the KEYS[n] and ARGV[n] that a script uses are those that its header declares (ARGV[n...]: the rest)
#   keys       every key literal `P .. 'name:'` is in the list of src/lib/protocol/keys.h
#   channels   C is the root of all channels, the last argument of every script; only this file defines it
#   numbers    every E_NAME is in the list of include/muster/error.h, whose number takes its place; every SETTING_NAME
#              in the list of include/muster/job.h, whose default takes its place

set(MUSTER_LUA_CMAKE ${CMAKE_CURRENT_LIST_FILE})

function(muster_embed_lua lua_dir out_dir)
  set(errors ${CMAKE_CURRENT_SOURCE_DIR}/include/muster/error.h)
  set(keys ${CMAKE_CURRENT_SOURCE_DIR}/src/lib/protocol/keys.h)
  set(settings ${CMAKE_CURRENT_SOURCE_DIR}/include/muster/job.h)
  file(GLOB_RECURSE inputs CONFIGURE_DEPENDS ${lua_dir}/*.lua)
  add_custom_command(
    OUTPUT ${out_dir}/protocol/lua_scripts.c ${out_dir}/protocol/lua_scripts.h
    COMMAND ${CMAKE_COMMAND} -DLUA_DIR=${lua_dir} -DOUT_DIR=${out_dir} -DERRORS=${errors} -DKEYS=${keys}
      -DSETTINGS=${settings}
      -P ${MUSTER_LUA_CMAKE}
    DEPENDS ${inputs} ${errors} ${keys} ${settings} ${MUSTER_LUA_CMAKE}
    COMMENT "Embedding the Lua scripts"
    VERBATIM)
  set(MUSTER_LUA_SOURCE ${out_dir}/protocol/lua_scripts.c ${out_dir}/protocol/lua_scripts.h PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

cmake_policy(VERSION 3.25)
file(READ ${ERRORS} error_list)
file(READ ${KEYS} key_list)
file(READ ${SETTINGS} setting_list)

# Lua text holds what CMake lists cannot: keep brackets and semicolons out of the way while working on it.
# Each mention of a piece of lua/inline/ is replaced by its statements, without their head.
function(read_lua out file)
  file(READ ${file} text)
  string(REPLACE "[" "<LB>" text "${text}")
  string(REPLACE "]" "<RB>" text "${text}")
  string(REPLACE ";" "<SC>" text "${text}")
  while(text MATCHES "\n( *)--- @inline \"([a-z_]+)\"\n")
    set(mention "${CMAKE_MATCH_0}")
    set(indent "${CMAKE_MATCH_1}")
    set(piece ${CMAKE_MATCH_2})
    if(indent STREQUAL "")
      message(FATAL_ERROR "${file}: mention the inline piece ${piece} within a block: what it sets is that block's own")
    elseif(NOT EXISTS ${LUA_DIR}/inline/${piece}.lua)
      message(FATAL_ERROR "${file}: there is no inline piece ${piece}.lua")
    endif()
    read_lua(body ${LUA_DIR}/inline/${piece}.lua)
    string(FIND "${body}" "<RB><RB>\n" head_end)
    math(EXPR head_end "${head_end} + 8")
    string(SUBSTRING "${body}" ${head_end} -1 body)
    string(REGEX REPLACE "\n([^\n])" "\n${indent}\\1" body "${body}")
    string(REPLACE "${mention}" "${body}" text "${text}")
  endwhile()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# ---- what there is: file_of_<include>, and the scripts' files in the order of their names

file(GLOB_RECURSE files ${LUA_DIR}/*.lua)
set(scripts "")
set(pieces "")
foreach(file ${files})
  file(RELATIVE_PATH path ${LUA_DIR} ${file})
  get_filename_component(name ${file} NAME_WE)
  if(path MATCHES "^inline/")
    continue()
  elseif(path MATCHES "^include/")
    if(DEFINED file_of_${name})
      message(FATAL_ERROR "lua/${path}: another include has this name: ${file_of_${name}}")
    endif()
    set(file_of_${name} ${file})
    list(APPEND pieces ${name})
  else()
    if(DEFINED script_${name})
      message(FATAL_ERROR "lua/${path}: another script has this name: ${script_${name}}")
    endif()
    set(script_${name} ${file})
    list(APPEND scripts ${name})
  endif()
endforeach()
list(SORT scripts)

# ---- includes

# The pieces that a text includes itself.
function(mentions out text)
  string(REGEX MATCHALL "\n--- @include \"[a-z_]+\"" found "\n${text}")
  list(TRANSFORM found REPLACE ".*\"([a-z_]+)\"" "\\1")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# Puts each included piece in place of its first mention. `open` is the path from the script to here, against circles.
function(expand out file open)
  read_lua(text ${file})
  get_filename_component(name ${file} NAME_WE)
  mentions(found "${text}")
  foreach(piece ${found})
    if(NOT DEFINED file_of_${piece})
      message(FATAL_ERROR "lua/${name}.lua: there is no include ${piece}.lua")
    endif()
    if(";${open};" MATCHES ";${piece};")
      message(FATAL_ERROR "lua/${name}.lua: includes go in a circle: ${open};${piece}")
    endif()
    get_property(seen GLOBAL PROPERTY seen_pieces)
    set(piece_text "")
    if(NOT "${piece}" IN_LIST seen)
      set_property(GLOBAL APPEND PROPERTY seen_pieces ${piece})
      expand(piece_text ${file_of_${piece}} "${open};${piece}")
    endif()
    string(REPLACE "--- @include \"${piece}\"\n" "${piece_text}" text "${text}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The code of a text: without its comments, and without what stands in quotes.
function(code_of out text)
  string(FIND "${text}" "<RB><RB>" head_end)
  string(SUBSTRING "${text}" ${head_end} -1 text)
  string(REGEX REPLACE "--[^\n]*" "" text "${text}")
  string(REGEX REPLACE "\"[^\"\n]*\"" "''" text "${text}")
  string(REGEX REPLACE "'[^'\n]*'" "''" text "${text}")
  string(REGEX REPLACE "<(LB|RB|SC)>" " " text "${text}")
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The names that code defines: its local functions and variables; only those at the left margin, which others see, or
# within blocks too.
function(names_defined out code margin)
  string(REGEX MATCHALL "${margin}local (function )?[A-Za-z_][A-Za-z_0-9, ]*" found "\n${code}")
  list(TRANSFORM found REPLACE ".*local (function )?" "")
  string(REGEX REPLACE "[, ]+" ";" found "${found}")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The names that code uses, as far as others may define them: the functions that it calls, and what begins with a
# capital. Variables in small letters are not looked at: a parameter may have the same name.
function(names_used out code)
  string(REGEX MATCHALL "[^A-Za-z0-9_.:][a-z_]+\\(" calls "${code}")
  string(REGEX MATCHALL "[^A-Za-z0-9_.:][A-Z][A-Za-z_]+" constants "${code}")
  set(found ${calls} ${constants})
  list(TRANSFORM found REPLACE "[^A-Za-z_]" "")
  list(REMOVE_DUPLICATES found)
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# ---- what includes define (owner_of_<name>), and which others they bring along (brought_by_<include>)

foreach(piece ${pieces})
  read_lua(text ${file_of_${piece}})
  code_of(code_${piece} "${text}")
  if(code_${piece} MATCHES "(KEYS|ARGV)")
    message(FATAL_ERROR "lua/include/${piece}.lua: an include gets what it needs as arguments, not from ${CMAKE_MATCH_1}")
  endif()
  mentions(included_${piece} "${text}")
  set(within_${piece} "")
  if(text MATCHES "\n--- @within \"([a-z_]+)\"\n")
    set(within_${piece} ${CMAKE_MATCH_1})
  endif()
  names_defined(defined "${code_${piece}}" "\n")
  foreach(name ${defined})
    if(DEFINED owner_of_${name})
      message(FATAL_ERROR "lua/include/${piece}.lua: ${owner_of_${name}}.lua defines ${name} too")
    endif()
    set(owner_of_${name} ${piece})
  endforeach()
endforeach()

# All that some pieces bring along, themselves among them.
function(brought out pieces)
  set(all "")
  while(pieces)
    list(POP_FRONT pieces piece)
    if(NOT "${piece}" IN_LIST all)
      list(APPEND all ${piece})
      list(APPEND pieces ${included_${piece}} ${within_${piece}})
    endif()
  endwhile()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# Does it include what it uses, nothing that belongs within another, and does it leave C alone?
function(check_needs name code included)
  foreach(piece ${included})
    if(within_${piece} AND NOT within_${piece} STREQUAL name AND NOT piece STREQUAL "${within_${name}}")
      message(FATAL_ERROR "lua/${name}.lua: include ${within_${piece}}, not ${piece}, which is a piece of it")
    endif()
  endforeach()
  if(code MATCHES "(local |function )[^=\n]*[ ,(]C[ ,)=\n]" OR code MATCHES "\n *C *=[^=]")
    message(FATAL_ERROR "lua/${name}.lua: defines C, which is the root of all channels")
  endif()
  brought(there "${included}")
  names_defined(own "${code}" "[^a-z]")
  names_used(used "${code}")
  list(REMOVE_ITEM used ${own} KEYS ARGV)
  foreach(one ${used})
    if(DEFINED owner_of_${one})
      if(NOT "${owner_of_${one}}" IN_LIST there)
        message(FATAL_ERROR "lua/${name}.lua: uses ${one}, and does not include ${owner_of_${one}}")
      endif()
    elseif(one MATCHES "^[A-Z][A-Z]" AND NOT one MATCHES "^(E|SETTING)_")
      message(FATAL_ERROR "lua/${name}.lua: uses ${one}, which nothing defines")
    endif()
  endforeach()
endfunction()

foreach(piece ${pieces})
  check_needs(${piece} "${code_${piece}}" "${included_${piece}};${within_${piece}}")
endforeach()

# ---- scripts

# The first line of each takes the last argument, the root of all channels, off ARGV: its pieces know it too, and the
# indexes of the contract are those of the rest.

# The indexes of KEYS or ARGV in a text, sorted; `rest` is where "ARGV[n...]" or a computed index begins, if there is one.
function(indexes out text what)
  string(REGEX MATCHALL "${what}<LB>[0-9]+<RB>" found "${text}")
  set(numbers "")
  foreach(one ${found})
    string(REGEX REPLACE "[^0-9]" "" number "${one}")
    list(APPEND numbers ${number})
  endforeach()
  list(REMOVE_DUPLICATES numbers)
  list(SORT numbers COMPARE NATURAL)
  set(${out} "${numbers}" PARENT_SCOPE)
endfunction()

function(check_contract name text)
  string(FIND "${text}" "--<LB><LB>" head_start)
  string(FIND "${text}" "<RB><RB>" head_end)
  if(NOT head_start EQUAL 0 OR head_end LESS 0)
    message(FATAL_ERROR "lua/${name}: begins with no contract block")
  endif()
  string(SUBSTRING "${text}" 0 ${head_end} head)
  string(SUBSTRING "${text}" ${head_end} -1 body)
  foreach(what KEYS ARGV)
    indexes(declared "${head}" ${what})
    indexes(used "${body}" ${what})
    if(NOT declared STREQUAL used)
      message(FATAL_ERROR "lua/${name}: its header declares ${what} ${declared}, its body uses ${used}")
    endif()
    set(declares_rest NO)
    if(head MATCHES "${what}<LB>[0-9]+\\.\\.\\.<RB>")
      set(declares_rest YES)
    endif()
    set(uses_rest NO)
    if(body MATCHES "${what}<LB>[^0-9]" OR body MATCHES "[^#A-Z]${what}[^<A-Z]")
      set(uses_rest YES)
    endif()
    if(NOT declares_rest STREQUAL uses_rest)
      message(FATAL_ERROR "lua/${name}: the rest of ${what}: declared ${declares_rest}, used ${uses_rest}")
    endif()
  endforeach()
endfunction()

function(check_keys name text)
  string(REGEX MATCHALL "P \\.\\. '[^']*'" literals "${text}")
  list(REMOVE_DUPLICATES literals)
  foreach(literal ${literals})
    string(REGEX REPLACE "P \\.\\. '([^']*)'" "\\1" key "${literal}")
    string(FIND "${key_list}" ", \"${key}\")" at)
    if(at LESS 0)
      message(FATAL_ERROR "lua/${name}: the key '${key}' is not in the list of src/lib/protocol/keys.h")
    endif()
  endforeach()
endfunction()

function(number_errors out name text)
  string(REGEX MATCHALL "[^A-Z_]E_[A-Z_]+" names "${text}")
  list(REMOVE_DUPLICATES names)
  foreach(one ${names})
    string(REGEX REPLACE "^[^A-Z_]" "" one "${one}")
    if(NOT error_list MATCHES "X\\(${one}, (-[0-9]+),")
      message(FATAL_ERROR "lua/${name}: ${one} is not in the list of include/muster/error.h")
    endif()
    string(REGEX REPLACE "([^A-Z_])${one}([^A-Z_])" "\\1${CMAKE_MATCH_1}\\2" text "${text}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# SETTING_NAME: the default of the setting `name`.
function(number_settings out name text)
  string(REGEX MATCHALL "SETTING_[A-Z_]+" names "${text}")
  list(REMOVE_DUPLICATES names)
  list(SORT names ORDER DESCENDING) # the longer one of two that begin alike first
  foreach(one ${names})
    string(REGEX REPLACE "^SETTING_" "" setting "${one}")
    string(TOLOWER ${setting} setting)
    if(NOT setting_list MATCHES "X\\(${setting}, ([0-9]+),")
      message(FATAL_ERROR "lua/${name}: ${setting} is not in the list of settings of include/muster/job.h")
    endif()
    string(REPLACE "${one}" "${CMAKE_MATCH_1}" text "${text}")
  endforeach()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

set(list_of_scripts "")
set(bodies "")
set(rows "")
foreach(name ${scripts})
  read_lua(own ${script_${name}})
  check_contract(${name}.lua "${own}")
  code_of(code "${own}")
  mentions(included "${own}")
  set_property(GLOBAL PROPERTY seen_pieces "")
  expand(text ${script_${name}} "")
  check_needs(${name} "${code}" "${included}")
  check_keys(${name}.lua "${text}")
  number_errors(text ${name}.lua "${text}")
  number_settings(text ${name}.lua "${text}")
  string(REPLACE "<LB>" "[" text "${text}")
  string(REPLACE "<RB>" "]" text "${text}")
  string(REPLACE "<SC>" ";" text "${text}")
  string(PREPEND text "local C = table.remove(ARGV)\n")
  file(WRITE ${OUT_DIR}/${name}.lua "${text}")
  file(SHA1 ${OUT_DIR}/${name}.lua sha1)
  file(SIZE ${OUT_DIR}/${name}.lua size)
  file(READ ${OUT_DIR}/${name}.lua hex HEX)
  string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
  string(TOUPPER ${name} upper)
  string(APPEND list_of_scripts "    SCRIPT_${upper},\n")
  string(APPEND bodies "static const unsigned char ${name}_body[] = {${hex}};\n")
  string(APPEND rows "    [SCRIPT_${upper}] = {\"${name}\", \"${sha1}\", ${name}_body, ${size}},\n")
endforeach()

file(WRITE ${OUT_DIR}/protocol/lua_scripts.h.new "/* Made from lua/ by cmake/lua.cmake. */
#ifndef LUA_SCRIPTS_H
#define LUA_SCRIPTS_H

#include \"redis/command.h\"

enum script_id {
${list_of_scripts}    SCRIPT_COUNT
};

extern const struct lua_script lua_scripts[SCRIPT_COUNT];

#endif
")
file(WRITE ${OUT_DIR}/protocol/lua_scripts.c.new "/* Made from lua/ by cmake/lua.cmake. */
#include \"protocol/lua_scripts.h\"

${bodies}
const struct lua_script lua_scripts[SCRIPT_COUNT] = {
${rows}};
")
foreach(file lua_scripts.h lua_scripts.c)
  file(RENAME ${OUT_DIR}/protocol/${file}.new ${OUT_DIR}/protocol/${file})
endforeach()
